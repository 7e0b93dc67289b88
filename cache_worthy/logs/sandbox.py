"""Chat templates of others, in Jinja2's sandbox and within limits.

The sandbox keeps a template from files, modules and Python's internals. It does not end one that loops
or allocates without end, so each rendering may take at most ``STEPS`` turns of loops and calls of
functions, ``SECONDS`` of time (looked at in every step) and, on Linux, ``MEMORY`` bytes beyond what the
process already has; a product has at most ``BITS`` bits or ``LONGEST`` elements. Not limited: memory on
other systems, and time inside one filter.
"""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cache_worthy.errors import UsageError
from cache_worthy.logs.prompts import Refused, Unusable

STEPS, SECONDS, MEMORY = 300_000, 10, 1 << 31
BITS, LONGEST = 4096, 1 << 26

TODAY = datetime(2024, 7, 26)
"""What ``strftime_now`` shows: the day that Llama 3's template takes without that function."""


TO_JSON = partial(json.dumps, ensure_ascii=False)
"""The filter ``tojson`` as Hugging Face defines it: no escapes for HTML."""


class _Generation(Extension):
    """``{% generation %}``, which marks answers for training and renders what is in it."""

    tags = {"generation"}  # noqa: RUF012  # as Jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiled templates of one file, by name; a :class:`UsageError` if one is no valid template."""

    intercepted_binops = frozenset(("*", "**"))

    def __init__(self, name: str, sources: Mapping[str, str]) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", _Generation],
        )
        # Random results, of any length.
        del self.globals["lipsum"], self.filters["random"]
        self.filters |= {"tojson": TO_JSON, "_turns": self._turns}
        self.globals |= {"raise_exception": _refuse, "strftime_now": TODAY.strftime}
        self._name, self._left, self._until = name, 0, 0.0
        self._templates = {}
        for which, source in sources.items():
            try:
                tree = self.parse(source)
                for loop in list(tree.find_all(nodes.For)):
                    counted: tuple[Any, ...] = (loop.iter, "_turns", [], [], None, None)
                    loop.iter = nodes.Filter(*counted, lineno=loop.lineno)
                with _less_memory():  # Jinja computes constants that are printed while it compiles
                    self._templates[which] = self.from_string(tree)
            except MemoryError:
                reason = f"takes more than {MEMORY >> 30} GiB to compile"
                raise UsageError(f"{name}: no chat template: {reason}") from None
            except Exception as error:  # noqa: BLE001 (Jinja2 leaves some limits to Python's compiler)
                what = str(error).partition("\n")[0][:200]
                raise UsageError(f"{name}: no chat template: {_place(error)}{what}") from None

    def render(self, which: str, **values: object) -> str:
        """The text of one prompt; raises as :func:`cache_worthy.logs.chat_templates.load_template` says."""
        self._left, self._until = STEPS, time.monotonic() + SECONDS
        try:
            with _less_memory():
                return self._templates[which].render(values)
        except Unusable:
            raise
        except MemoryError:
            reason = f"takes more than {MEMORY >> 30} GiB for one prompt"
        except Exception as error:  # noqa: BLE001  # whatever an expression of the template raises
            what = str(error).partition("\n")[0][:200] or type(error).__name__
            reason = f"{_place(error)}{what}"
        raise Refused(f"{self._name}: {reason}")

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TemplateError(f"more than {STEPS} turns of loops and calls for one prompt")
        if time.monotonic() > self._until:
            raise TemplateError(f"takes more than {SECONDS} s for one prompt")

    def _turns(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self._step()
            yield item

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls; a macro that calls itself is a loop too."""
        self._step()
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Multiply, unless the result is too large to be meant."""
        if isinstance(left, int) and isinstance(right, int):
            size = left.bit_length()
            size = size * right if operator == "**" else size + right.bit_length()
            too_large = size > BITS
        else:
            a, b = (len(v) if hasattr(v, "__len__") else v for v in (left, right))
            too_large = operator == "*" and a * b > LONGEST
        if too_large:
            raise TemplateError(f"a result of {operator} is too large")
        return self.binop_table[operator](left, right)


def _place(error: BaseException) -> str:
    """The line of a template at which an error arose."""
    if isinstance(error, TemplateSyntaxError):
        return f"line {error.lineno}: "
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if f.filename in ("<template>", "<unknown>")]
    return f"line {lines[-1]}: " if lines else ""


def _refuse(message: object) -> NoReturn:
    raise Unusable(f"the template refuses this prompt: {message}")


@contextlib.contextmanager
def _less_memory() -> Iterator[None]:
    """Let the process grow by ``MEMORY`` bytes at most, on Linux."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MEMORY
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
