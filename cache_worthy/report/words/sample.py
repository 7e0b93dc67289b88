"""The words of an estimate from a sample."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.sample import SampleReport, SavingEstimate
from cache_worthy.numbers import gib, percent
from cache_worthy.report.model import Prose, Section

NO_BOUND_OF_SAMPLE = (
    "A certified bound needs the whole log; run without --sample, or cache-worthy bound at one "
    "capacity."
)


def words(analysis: Analysis) -> Section | None:
    """The section."""
    sample = analysis.of(SampleReport)
    if sample is None:
        return None
    return Section(about="what was kept of the log", parts=(Prose(sample_text(sample)),))


def least_name(sample: SampleReport | None) -> str:
    """What the least capacity of the curve and of the policy table is called."""
    return "floor" if sample is None or not sample.not_answered else "least answered"


def sample_head(sample: SampleReport, recommended: int) -> str:
    """For the head of the report; ``recommended`` in bytes is a point of the curve."""
    error = next(point.error for point in sample.curve if point.bytes == recommended)
    return (
        f"ESTIMATED from --sample {sample.fraction:g}, {sample.kept_requests} of "
        f"{sample.requests} requests: how much to give (cost there +/- {error:.3f} of the "
        "compulsory minimum) and which policy. Question 1, the least memory and the pins are of the "
        "whole log."
    )


def sample_text(sample: SampleReport) -> str:
    """What was kept, and what was left unanswered."""
    text = (
        f"Kept: {sample.kept_subtrees} of {sample.subtrees} subtrees, {sample.kept_requests} of "
        f"{sample.requests} requests, {sample.kept_blocks} of {sample.blocks} blocks, of which "
        f"{sample.shared_blocks} are shared by so many requests that they are kept with every "
        f"sample. Capacities beyond these are scaled by {sample.scale:.4f}. Errors: "
        f"{sample.method}. The least capacity that this sample answers is "
        f"{gib(sample.least_bytes)}: a knee under it is not seen."
    )
    if sample.not_answered:
        text += f" Not answered from a sample: {', '.join(sample.not_answered)}."
    return text


def saving_text(sample: SampleReport | None, n: int) -> str:
    """The error of a saving, behind its verdict."""
    if sample is None:
        return ""
    saving: SavingEstimate = sample.savings[n]
    if not saving.saving_fraction:
        return " (from a sample)"
    text = f" (from a sample: +/- {percent(saving.error, 2)}"
    if saving.saving_fraction <= saving.error:
        text += ", so it may be none"
    return text + ")"
