"""Exact optima of small instances."""
