"""Independent answers: optima and bounds that share no code with what they judge.

* ``optimum``: exact optima of small instances, by dynamic and by integer programming; Belady.
* ``bound``: the certified lower bound of a trace, and clairvoyant schedules above it.
* ``registry``: every oracle by name and kind, on instances of the formal model.
"""

if __name__ != "cache_worthy.oracles":
    raise ImportError(
        "import cache_worthy.oracles: the folder oracles/ installs inside cache_worthy"
    )
