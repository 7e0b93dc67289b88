"""Second transcriptions of deployed policies, for the tests."""
