"""Python string literals in a server's log (``repr`` of a prompt)."""

from __future__ import annotations

import ast
import re
import warnings

STRING = re.compile(r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\"""", re.DOTALL)
"""One literal."""

QUOTE = re.compile(r"""['"]""")


def python_literal(text: str) -> object:
    """The value of a literal; a :class:`ValueError` if it is none.

    Examples
    --------
    >>> python_literal(r"'a\\nb'"), python_literal("['a', 'b']"), python_literal(r"'\\d'") == "\\\\d"
    ('a\\nb', ['a', 'b'], True)
    """
    with warnings.catch_warnings():
        # A damaged line may hold escapes that repr never writes; Python keeps them, and warns.
        warnings.simplefilter("ignore")
        try:
            value: object = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError("no Python literal") from error
        return value
