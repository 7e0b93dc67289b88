"""SGLang's radix cache with its selectable eviction strategies, one request in service at a time.

`tree` is the cache, `strategies` what a strategy scores, `versions` which server offers what, `log` a
request log cut to pages, `replay` the loop.
"""
