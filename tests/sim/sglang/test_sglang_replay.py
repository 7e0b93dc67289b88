"""SGLang replay: hand-computed cases, the log cut to pages, the table of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from request_logs import paged_log

from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.sglang.log import PagedLog
from cache_worthy.sim.sglang.replay import replay_sglang
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.versions import CURRENT, SERVERS, flag_for, server_for
from cache_worthy.sim.trace import Request


def log_of(*paths: str, block: int = 1, priorities: list[int] | None = None) -> PagedLog:
    """One letter a block, prompts of whole blocks."""
    requests = [Request(tuple(p), block * len(p)) for p in paths]
    return paged_log(requests, block_tokens=block, priorities=priorities)


def test_a_whole_node_goes() -> None:
    """Five of six tokens held as one node; one more is wanted: all five leave."""
    result = replay_sglang(log_of("abcde", "xy", "abcde"), "sglang_lru", 6)
    assert (result.evictions, result.evicted_size) == (2, 7)
    assert result.hit_tokens == (0, 0, 0)


def test_the_shared_part_stays() -> None:
    """abc is split at b; its tail c is the older leaf and goes first."""
    result = replay_sglang(log_of("abc", "abd", "xy", "abd"), "sglang_lru", 5)
    assert result.hit_tokens == (0, 2, 0, 3)


def test_double_counting_makes_slru_lru_at_its_default() -> None:
    """A request reaches the threshold of two by itself, unless it counts once (0.5.22)."""
    paths = ("hot", "hot", "one", "two", "hot")
    counted = replay_sglang(log_of(*paths), "sglang_slru", 6, server=server_for("0.5.21"))
    assert counted.hit_tokens == replay_sglang(log_of(*paths), "sglang_lru", 6).hit_tokens
    assert counted.hit_tokens[-1] == 0
    patched = replay_sglang(log_of(*paths), "sglang_slru", 6)
    assert patched.hit_tokens[-1] == 3
    raised = replay_sglang(
        log_of(*paths), "sglang_slru", 6, server=server_for("0.5.21"), protected_threshold=3
    )
    assert raised.hit_tokens[-1] == 3


def test_priority_of_the_request_protects() -> None:
    paths = ("abc", "one", "xyz", "abc")
    plain = replay_sglang(log_of(*paths), "sglang_priority", 6)
    assert plain.hit_tokens[-1] == 0
    favoured = log_of(*paths, priorities=[1, 0, 0, 0])
    assert replay_sglang(favoured, "sglang_priority", 6).hit_tokens[-1] == 3


def test_tlru_gives_up_a_tail_that_is_cheap_to_recompute() -> None:
    """Two turns make two nodes; with threshold 2 the second goes before the older xyz."""
    paths = ("xyz", "abcd", "abcdef", "pq", "xyz")
    assert replay_sglang(log_of(*paths), "sglang_lru", 10).hit_tokens[-1] == 0
    assert replay_sglang(log_of(*paths), "sglang_tlru", 10, threshold=2).hit_tokens[-1] == 3
    # An estimate of one token for the next prompt leaves one to recompute: the tail must stay.
    strict = replay_sglang(log_of(*paths), "sglang_tlru", 10, threshold=2, next_prompt_estimate=1)
    assert strict.hit_tokens[-1] == 0


def test_old_servers_ask_for_the_whole_allocation() -> None:
    """Room for one token, two wanted: two nodes leave where one was enough."""
    paths = ("a", "b", "c", "xy", "b")
    current = replay_sglang(log_of(*paths), "sglang_lru", 4)
    older = replay_sglang(log_of(*paths), "sglang_lru", 4, server=server_for("0.5.16"))
    assert (current.hit_tokens[-1], older.hit_tokens[-1]) == (1, 0)


def test_pages_cut_the_last_block() -> None:
    requests = [Request((7, 8), 600, None)] * 2
    for page, hit in ((1, 600), (16, 592), (64, 576), (512, 512), (None, 600)):
        log = paged_log(requests, page_size=page)
        assert replay_sglang(log, "sglang_lru", 4096).hit_tokens == (0, hit)
    with pytest.raises(InputError, match="divisor of the log's block"):
        paged_log(requests, page_size=100)


def test_generated_tokens_take_room() -> None:
    """Ten tokens of answer leave no room for the first prompt beside the second."""
    requests = [Request((1,), 16, 10), Request((2,), 16, 10), Request((1,), 16, 10)]
    outcomes = {}
    for kind in (False, True):
        log = paged_log(requests, block_tokens=16, page_size=1, generated=kind)
        outcomes[kind] = replay_sglang(log, "sglang_lru", 42).hit_tokens
    assert outcomes == {False: (0, 0, 16), True: (0, 0, 16)}
    tight = paged_log(requests, block_tokens=16, page_size=1)
    assert replay_sglang(tight, "sglang_lru", 36).hit_tokens == (0, 0, 0)
    assert replay_sglang(
        paged_log(requests, block_tokens=16, page_size=1, generated=False),
        "sglang_lru",
        36,
    ).hit_tokens == (0, 0, 16)


def test_what_servers_offer() -> None:
    names = {s.server_name for s in STRATEGIES.values()}
    for server in SERVERS:
        assert set(server.choices) <= names
        assert server.source
    assert CURRENT.choices == ("lru", "lfu", "slru", "priority", "tlru")
    refused = {s for s in names if flag_for(s, {}) is None}
    assert refused == {"fifo", "filo", "mru", "tlru"}
    # The server refuses a T-LRU under which nothing is safe.
    assert flag_for("tlru", {"threshold": 2}) is not None
    assert flag_for("tlru", {"threshold": 2, "next_prompt_estimate": 2}) is None
    older = server_for("0.5.14")
    assert flag_for("tlru", {}, older) is None
    assert flag_for("slru", {"protected_threshold": 3}, older) is None


def test_before_the_counts_moved_lfu_was_lru() -> None:
    paths = ("hot", "hot", "one", "two", "hot")
    old = server_for("0.5.9")
    lfu = replay_sglang(log_of(*paths), "sglang_lfu", 6, server=old)
    assert lfu.hit_tokens == replay_sglang(log_of(*paths), "sglang_lru", 6, server=old).hit_tokens
    assert replay_sglang(log_of(*paths), "sglang_lfu", 6).hit_tokens[-1] == 3


@pytest.mark.parametrize("version", ["0.5.2", "0.4.9", "five", "1.0"])
def test_releases_that_say_nothing(version: str) -> None:
    with pytest.raises(InputError, match=r"from 0\.5\.3 on|expected a release"):
        server_for(version)


@pytest.mark.parametrize(
    ("policy", "capacity", "parameters", "message"),
    [
        ("sglang_lifo", 9, {}, "unknown; expected one of sglang_lru"),
        ("sglang_lru", 2, {}, "below the largest request, 3 tokens"),
        ("sglang_lru", 9, {"threshold": 1}, "it takes no parameter"),
        ("sglang_slru", 9, {"protected_threshold": -1}, "an integer >= 0"),
    ],
)
def test_bad_input(policy: str, capacity: int, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay_sglang(log_of("abc"), policy, capacity, **parameters)


@pytest.mark.traces
@pytest.mark.parametrize("name", ["conversation", "synthetic"])
def test_at_room_for_all_every_strategy_is_the_ideal(name: str, traces: Path) -> None:
    """Ideal hit rates by block: 0.3664 and 0.6396 (published)."""
    log = paged_log(read_log(traces / f"{name}_trace.jsonl").requests, generated=False)
    room = sum(log.weights)
    published = {"conversation": 0.3664, "synthetic": 0.6396}[name]
    for policy in STRATEGIES:
        result = replay_sglang(log, policy, room)
        assert round(result.hit_blocks / result.block_references, 4) == published
        assert result.evictions == 0


@pytest.mark.traces
def test_slru_is_lru_on_the_traces(traces: Path) -> None:
    """The double count (sglang#30689) makes slru at its default exactly lru."""
    log = paged_log(read_log(traces / "conversation_trace.jsonl").requests, generated=False)
    lru = replay_sglang(log, "sglang_lru", 3656 * 512)
    slru = replay_sglang(log, "sglang_slru", 3656 * 512, server=server_for("0.5.21"))
    assert slru.hit_tokens == lru.hit_tokens
    patched = replay_sglang(log, "sglang_slru", 3656 * 512)
    assert patched.hit_tokens != lru.hit_tokens
