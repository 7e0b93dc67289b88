"""Names of models as people, logs and servers write them, brought to the shipped ones.

A name is compared by its letters and digits, after the publisher in front of the last slash and
suffixes that do not change the architecture (``-Instruct``, ``-it``, a four-digit release, a
quantisation) are taken off. What is left has to be a shipped name or an alias exactly: a dated name
of an API (``gpt-4o-2024-08-06``) is none of them.
"""

from __future__ import annotations

import re

SUFFIX = re.compile(
    r"[-_:@ .](?P<last>instruct|chat|it|base|hf|pt|thinking|versatile|instant|maas|free|latest|turbo|"
    r"tee|text|quantized|unsloth|bnb|v\d+:0|v0[.]\d|\d{4}|"
    r"(?P<bits>bf16|fp16|fp8|fp8[-_]dynamic|fp4|nvfp4|mxfp4|int8|int4|awq|gptq|gptq[-_]int4|w8a8|w4a16|"
    r"[48]bit|gguf|q\d(_[0-9a-z]+)*))$"
)
WEIGHTS = {
    "fp8": "fp8",
    "fp8dynamic": "fp8",
    "w8a8": "int8",
    "int8": "int8",
    "8bit": "int8",
    "fp4": "fp4",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
    "int4": "int4",
    "awq": "int4",
    "gptq": "int4",
    "gptqint4": "int4",
    "w4a16": "int4",
    "4bit": "int4",
}
"""Precision of the weights that a suffix names; llama.cpp's are not understood and change nothing."""

PUBLISHERS = (
    "meta",
    "mistralai",
    "mistral",
    "deepseek",
    "qwen",
    "google",
    "cohere",
    "us",
    "openai",
)


def key(name: str) -> str:
    """What of a name is compared.

    Examples
    --------
    >>> key("Llama-3.1-8B") == key("llama-v3p1-8b") == key("llama3.1:8b")
    True
    """
    text = re.sub(r"(?<=[-v])(\d+)p(?=\d)", r"\1.", name.lower())
    text = re.sub(r"(?<![a-z0-9])v(?=\d[.])", "", text)
    return re.sub(r"[^a-z0-9]", "", text)


def candidates(name: str) -> list[tuple[str, str | None]]:
    """Keys to look up, the most exact first, each with the precision that the name gave weights."""
    text = name.strip().lower().rsplit("/", 1)[-1]
    found: list[tuple[str, str | None]] = []
    weights: str | None = None
    while True:
        found.append((key(text), weights))
        for publisher in PUBLISHERS:
            if text.startswith((f"{publisher}-", f"{publisher}.")):
                found.append((key(text[len(publisher) + 1 :]), weights))
        cut = SUFFIX.search(text)
        if cut is None:
            return found
        if weights is None and cut["bits"]:
            weights = WEIGHTS.get(key(cut["bits"]))
        text = text[: cut.start()]
