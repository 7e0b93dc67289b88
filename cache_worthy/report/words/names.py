"""Names that several sections use."""

from __future__ import annotations

SERVERS = {"sglang": "SGLang", "vllm": "vLLM"}
