"""Request logs of any known shape: bytes to requests."""
