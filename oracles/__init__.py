"""Independent answers: optima and bounds that share no code with what they judge."""

if __name__ != "cache_worthy.oracles":
    raise ImportError(
        "import cache_worthy.oracles: the folder oracles/ installs inside cache_worthy"
    )
