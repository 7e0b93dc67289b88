"""Second transcriptions of deployed caches, which tests hold the simulators against.

They are in a checkout only: a wheel does not hold them.
"""
