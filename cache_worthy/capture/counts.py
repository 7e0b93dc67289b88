"""What became of the requests: counts, and what a run did in a few lines."""

from __future__ import annotations

from dataclasses import dataclass

ENDPOINTS = ("/chat/completions", "/completions", "/responses", "/messages")
"""Ends of the paths whose POST bodies are prompts; everything else is only passed on."""


@dataclass(slots=True)
class Counts:
    """What became of the requests."""

    passed: int = 0
    """Requests passed on, recorded or not."""
    recorded: int = 0
    """Records written."""
    failed: int = 0
    """Those of them marked as failed."""
    too_long: int = 0
    """Prompts not recorded: over the body limit,"""
    no_room: int = 0
    """while the memory for records was full,"""
    no_prompt: int = 0
    """without a prompt that can be read,"""
    unwritten: int = 0
    """because the log could not be written."""
    no_length: int = 0
    """Recorded answers whose length the server did not say."""
    prompt_tokens: int = 0
    """As servers reported it, over the records that have this and the next:"""
    cached_tokens: int = 0
    """taken from a cache."""
    counted_tokens: int = 0
    """Prompt tokens by the server's count, over the records that have this and the next:"""
    cut_tokens: int = 0
    """by this tool's."""

    @property
    def lost(self) -> int:
        """Prompts that should be in the log and are not."""
        return self.no_room + self.unwritten


def summary(counts: Counts, chars_per_token: float | None, tokenizer: str) -> list[str]:
    """What a run did, in a few lines."""
    c = counts
    out = [f"{c.passed} requests passed on, {c.recorded} recorded, {c.failed} of them failed"]
    missing = (
        (c.too_long, "over --max-body-mib"),
        (c.no_prompt, "without a prompt that could be read"),
        (c.no_room, "while the memory for records was full"),
        (c.unwritten, "lost because the log could not be written"),
    )
    if any(n for n, _ in missing):
        out.append("not recorded: " + ", ".join(f"{n} {why}" for n, why in missing if n))
    elif c.passed and not c.recorded:
        out.append(f"none was a POST to {', '.join('...' + end for end in ENDPOINTS)}")
    if c.prompt_tokens:
        share = 100 * c.cached_tokens / c.prompt_tokens
        out.append(
            f"the server took {share:.1f}% of prompt tokens from its cache, where it reported them"
        )
    if c.no_length:
        out.append(
            f"{c.no_length} answers came without their length; clients get it in streams with "
            "stream_options.include_usage"
        )
    if c.counted_tokens and tokenizer == "chars":
        off = c.cut_tokens / c.counted_tokens
        if abs(off - 1) > 0.05:
            if chars_per_token is None:
                gives, better = "the estimate", "--tokenizer counts them as the model does"
            else:
                gives = f"--chars-per-token {chars_per_token:g}"
                better = f"{chars_per_token * off:.2f} would fit this traffic"
            out.append(
                f"the server counted {c.counted_tokens} prompt tokens, {gives} gives {c.cut_tokens}; "
                f"{better}"
            )
    return out
