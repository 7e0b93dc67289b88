"""Documents of ``analyze``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

#: Sections to skip where the sensitivity band is looked at.
REST = "bound,splits,tails,coldstart,causes,pinsim"


def document(run: Callable[..., tuple[int, str, str]], *argv: object) -> dict[str, Any]:
    """What ``analyze --json`` writes of a log that it can analyse."""
    code, out, err = run("analyze", *argv, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found
