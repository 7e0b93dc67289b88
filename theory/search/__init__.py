"""Searches for adversarial instances."""
