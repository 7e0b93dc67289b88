"""The recording reverse proxy: what ``cache-worthy capture`` runs.

``server`` runs ``proxy`` (an ASGI application on uvicorn with an aiohttp client), which hands each
request to ``recorder``: one thread that turns bodies into blocks by the code that reads logs, and
writes them to a ``logfile``. ``usage`` reads the token counts in answers, ``advice`` runs the advisor
beside the traffic and ``short`` says what it found; ``addresses`` and ``key`` are what a run is given,
``summary`` is what it says at its end.

Rank of evidence: differential. The analysis of a recorded log is held, field by field, against that
of the same bodies given as a log, and the bytes that went through against those that were sent
(``scripts/check/capture.py``).
"""
