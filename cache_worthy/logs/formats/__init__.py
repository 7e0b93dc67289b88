"""The registry of log formats: one file per format, and one line each in ``FORMATS``.

A format module meets :class:`cache_worthy.logs.prompts.Format`.
"""

from __future__ import annotations

from cache_worthy.logs.formats import (
    anthropic,
    bailian,
    conversations,
    counts,
    dynamo,
    langfuse,
    lines,
    litellm,
    native,
    openai,
    otel,
    sglang,
    text,
    vllm,
    weka,
)
from cache_worthy.logs.prompts import Format

FORMATS: tuple[Format, ...] = (
    bailian,
    native,
    dynamo,
    weka,
    sglang,
    vllm,
    litellm,
    langfuse,
    otel,
    conversations,
    anthropic,
    openai,
    text,
    counts,
    lines,
)
"""In order of detection; to add one, write its file and add it here."""
