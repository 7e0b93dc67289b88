"""Simulator: traces, prefix forests, the cost model, replay and policies."""

if __name__ != "cache_worthy.sim":
    raise ImportError("import cache_worthy.sim: the folder sim/ installs inside cache_worthy")
