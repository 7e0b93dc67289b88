"""The loops that :mod:`cache_worthy.sim.radix.compiled` has numba compile; imported by nothing else.

Plain functions of arrays and numbers, in the order of statements of their oracles.
"""
