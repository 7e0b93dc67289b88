"""What a run of the recorder did, in a few lines."""

from __future__ import annotations

from cache_worthy.capture.recorder import ENDPOINTS, Counts


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
