"""The words of question 1: whether caching is worth it."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.workload import Worth
from cache_worthy.numbers import percent
from cache_worthy.report.model import Answer, Prose, Section
from cache_worthy.report.words.marks import ceiling_mark


def words(analysis: Analysis) -> Section | None:
    """The section."""
    worth = analysis.of(Worth)
    if worth is None:
        return None
    verdict, text = worth_text(worth, analysis.of(Band))
    return Section(
        about="is caching worth it?",
        parts=(Answer("Question 1", verdict), Prose(text)),
    )


def hidden_text(worth: Worth) -> str:
    """That only the block size makes question 1 end, and which size would not."""
    return (
        f"In blocks of this size an unlimited cache would remove {percent(worth.ceiling, 2)} of prefill "
        f"work, but prompts start alike for less than a block: blocks of {worth.smaller_block} "
        f"would remove about {percent(worth.hidden_fraction)}, if your server can use them. Rerun with "
        f"--block-size {worth.smaller_block}."
    )


def worth_text(worth: Worth, band: Band | None) -> tuple[str, str]:
    """The answer to question 1, and its reason."""
    mark = "" if worth.ceiling is None else ceiling_mark(band)
    if worth.worth_caching:
        return "Worth caching", (
            "With unlimited memory and a perfect policy, prefix caching removes at most "
            f"{percent(worth.ceiling)} of this log's prefill work. That is a ceiling: no capacity "
            "and no policy can exceed it, and a real cache stays below it." + mark
        )
    if worth.hidden_fraction is not None:
        return "Not in blocks of this size", hidden_text(worth) + mark
    gain = (
        "There is nothing to cache: no record has a block."
        if worth.ceiling is None
        else f"Even an unlimited cache would remove only {percent(worth.ceiling, 2)} of this "
        "log's prefill work."
    )
    return "Not worth caching", (
        f"{gain} Rule: {worth.rule}. Capacity, policy and pins would be answers to a question "
        "that does not arise, so the run ends here." + mark
    )
