"""One file per log format."""
