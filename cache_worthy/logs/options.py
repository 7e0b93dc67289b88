"""What a user may choose about reading a log."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

from cache_worthy.checks import boolean, integer, one_of, real, text, wrong
from cache_worthy.errors import UsageError

CUT_TOKENS = 16
"""Tokens in one block of text or token ids: vLLM's default."""

ORDERS = ("auto", "time", "file")
TEMPLATES = ("simple", "chatml", "llama3")
TEMPLATE_FILES = (".jinja", ".jinja2", ".j2", ".json")
LARGEST_BLOCK = 1 << 20
LEAST_CHARS, MOST_CHARS = 0.1, 1e6
"""Characters that may stand for one token."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of reading a log.

    Attributes
    ----------
    chars_per_token : float or None
        Characters that stand for one token of text, if no tokeniser is chosen; None estimates tokens
        from the kinds of characters (:mod:`cache_worthy.logs.estimate`).
    format : str
        ``auto``, or the name of a format.
    block_size : int or None
        Tokens in one block; None takes the log's own, else 16 for prompts and 512 for block ids.
        An option that the log's ids contradict is refused.
    order : str
        ``time``, ``file``, or ``auto``: by arrival time if every request has one.
    concurrency : int or None
        Sessions that run at once, in the order of the file; the next starts when one ends.
    template : str
        How messages and tools become one text: ``simple``, ``chatml``, ``llama3``, or the file of a
        model's own template (``.jinja``, or a ``tokenizer_config.json``).
    tokenizer : str
        ``chars``, ``tiktoken:NAME``, ``qwen:NAME`` or ``hf:PATH``.
    model_field : str or None
        The field that names the model, dotted; None takes the format's own.
    model : str or None
        Read only this model's requests; ``*`` reads all, each model's blocks apart.
    salt_field : str or None
        The field that keeps caches apart (tenant, adapter), dotted; None takes the format's own.
    allow_partial : bool
        Go on when more than 5 percent of the records are unusable.

    Raises
    ------
    UsageError
        On a value out of its range; the names of formats and tokenisers are checked when used.
    """

    chars_per_token: float | None = None
    format: str = "auto"
    block_size: int | None = None
    order: str = "auto"
    concurrency: int | None = None
    template: str = "simple"
    tokenizer: str = "chars"
    model_field: str | None = None
    model: str | None = None
    salt_field: str | None = None
    allow_partial: bool = False

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "order": one_of("order", self.order, ORDERS),
            "template": self._template(),
            "allow_partial": boolean("allow_partial", self.allow_partial),
        }
        if self.chars_per_token is not None:
            checked["chars_per_token"] = real(
                "chars_per_token", self.chars_per_token, least=LEAST_CHARS, most=MOST_CHARS
            )
        if self.block_size is not None:
            size = integer("block_size", self.block_size, least=1, most=LARGEST_BLOCK)
            checked["block_size"] = size
        if self.concurrency is not None:
            checked["concurrency"] = integer("concurrency", self.concurrency, least=1)
            if self.order != "auto":
                raise UsageError(
                    f"--concurrency {self.concurrency}: orders the requests itself; leave "
                    f"--order {self.order} out"
                )
        for name in ("format", "tokenizer"):
            text(name, getattr(self, name))
        for name in ("model_field", "model", "salt_field"):
            if getattr(self, name) is not None:
                text(name, getattr(self, name))
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _template(self) -> str:
        expected = f"{', '.join(TEMPLATES)}, a FILE.jinja or a tokenizer_config.json"
        name = os.fspath(self.template) if isinstance(self.template, PathLike) else self.template
        if not isinstance(name, str) or not (name in TEMPLATES or name.endswith(TEMPLATE_FILES)):
            raise wrong("template", expected, self.template)
        return name

    @property
    def block_tokens(self) -> int:
        """Tokens in one block of a prompt that the log holds."""
        return self.block_size or CUT_TOKENS

    @property
    def chars_per_block(self) -> int | None:
        """Characters in one block of text, by the ratio given; None if tokens are estimated."""
        ratio = self.chars_per_token
        return None if ratio is None else max(1, round(self.block_tokens * ratio))


def with_choices(options: ReadOptions, choices: Mapping[str, object]) -> ReadOptions:
    """The options with some fields chosen by name; a :class:`TypeError` on a name that is no field.

    Examples
    --------
    >>> with_choices(ReadOptions(), {"block_size": 16}).block_tokens
    16
    >>> with_choices(ReadOptions(), {"blocksize": 16})
    Traceback (most recent call last):
    ...
    TypeError: read_log: no option 'blocksize'; expected one of chars_per_token, format, block_size, ...
    """
    names = [f.name for f in dataclasses.fields(ReadOptions)]
    for name in choices:
        if name not in names:
            raise TypeError(f"read_log: no option {name!r}; expected one of {', '.join(names)}")
    return dataclasses.replace(options, **choices)  # type: ignore[arg-type]
