"""The formal model and literal transcriptions of the algorithms, in exact arithmetic."""

if __name__ != "cache_worthy.theory":
    raise ImportError("import cache_worthy.theory: the folder theory/ installs inside cache_worthy")
