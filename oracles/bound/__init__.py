"""The certified lower bound of a trace, and schedules above it."""
