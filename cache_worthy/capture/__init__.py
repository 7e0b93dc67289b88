"""The recording reverse proxy: what ``cache-worthy capture`` runs.

``server`` runs ``proxy`` (an ASGI application on uvicorn with an aiohttp client), which hands each
request to ``recorder``: one thread that turns bodies into blocks by the code that reads logs, and
writes them to a ``logfile``. ``usage`` reads the token counts in answers; ``advice`` runs the advisor
during the run and prints its short answer; ``given`` reads what a run is given; ``counts`` says what
it did.

Rank of evidence: differential. The analysis of a recorded log is held, field by field, with that
of the same bodies given as a log, and the bytes that arrived with those that were sent
(``scripts/check/capture.py``).
"""
