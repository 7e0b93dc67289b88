"""Reports: a model of sections, and its writers."""
