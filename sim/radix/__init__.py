"""The radix tree of cached blocks, its replay engines and its policies."""
