"""cache-worthy: workbench and advisor for dependency-constrained prefix caching."""

__version__ = "0.1.0"
