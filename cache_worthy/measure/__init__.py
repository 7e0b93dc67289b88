"""Replays of a log and what is counted in them."""
