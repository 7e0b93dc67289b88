"""The words of question 6: which prefixes to pin."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.band import Band
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.pin import Pin, Pins
from cache_worthy.numbers import counted, gib, percent
from cache_worthy.report.model import Answer, Cell, Prose, Section, table_of
from cache_worthy.report.words.marks import pin_mark

_ABOUT = {
    "generic": "through your server's retention interface, where it has one",
    "sglang": "SGLang can only prefer prefixes, not pin them",
    "vllm": "what it would be worth; vLLM cannot pin",
}

ANY_SERVER = (
    "Whether a prefix can be held depends on the server. TensorRT-LLM takes a retention "
    "priority by token range: KvCacheRetentionConfig with TokenRangeRetentionConfig(0, "
    "tokens of the prefix, priority up to 100; the default is 35). SGLang protects softly, "
    "vLLM not at all: --engine sglang and --engine vllm say more."
)


def words(analysis: Analysis) -> Section | None:
    """The section."""
    pins, advice = analysis.of(Pins), analysis.of(EngineAdvice)
    if pins is None:
        return None
    top = max((p.protected_cost for p in pins.pins), default=1)
    rows = table_of(
        "pins-table",
        enumerate(pins.pins),
        columns={
            "": lambda r: f"#{r[0]}",
            "refs": lambda r: str(r[1].references),
            "depth": lambda r: str(r[1].depth),
            "blocks": lambda r: str(r[1].blocks),
            "subtree": lambda r: str(r[1].subtree_blocks),
            "pin KV": lambda r: gib(r[1].pin_bytes),
            "protects": lambda r: _protects(r[1], top),
            "first record": lambda r: str(r[1].first_request),
        },
    )
    return Section(
        about=_ABOUT[analysis.parameters.engine],
        parts=(
            Answer("Question 6", "", _answer(pins)),
            rows,
            Prose(_together(pins) + pin_mark(analysis.of(Band)), note=True),
            Prose(ANY_SERVER if advice is None else advice.pins, note=True),
        ),
    )


def _protects(pin: Pin, top: int) -> Cell:
    return Cell(percent(pin.protected_fraction), share=pin.protected_cost / top)


def _answer(pins: Pins) -> str:
    shown = counted(len(pins.pins), "prefix", "es")
    return (
        f"{shown} {'protect' if len(pins.pins) != 1 else 'protects'} at most "
        f"{percent(pins.together_protected_fraction)} of what caching can save"
    )


def _together(pins: Pins) -> str:
    """What the pins do together, and what that number is not."""
    return (
        f"Together: {gib(pins.together_bytes)} held in the cache protect at most "
        f"{percent(pins.together_protected_fraction)} of avoidable work = "
        f"{percent(pins.together_fraction_of_prefill)} of all prefill work. It is a "
        "ceiling: your cache keeps some of these already. Pin KV includes the ancestors that a "
        "pin implies."
    )
