"""Our SGLang cache against the server's own code, request by request.

    pip download --no-deps --dest DIR sglang==0.5.23 && unzip DIR/sglang-*.whl -d DIR/unpacked
    python scripts/check/sglang_release.py --package DIR/unpacked [--requests N] [--seed S]

Loads ``evict_policy.py`` and ``radix_cache.py`` of an unpacked SGLang release (0.5.22 or 0.5.23)
with small stand-ins for what they import (tensors become lists, the clock a counter), drives both
caches through the same random requests, and compares after each one the tokens found, the tokens
held, and every node with its hit count and priority. The server's package is not a dependency:
nothing of it is kept here, and without it this check cannot run.

Left out: tlru, whose bookkeeping is in another file of the server, and fifo and filo, which read
the creation time that this tree of the server renews at a split and its newer one inherits.

Exit codes: 0 they agree, 1 they differ, 2 the package is not there or not one of the two releases.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import random
import sys
import types
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.tree import Node, RadixCache

#: Tokens of blocks 0 to 5.
WEIGHTS = (1, 2, 3, 1, 2, 3)


class _Slots(list[int]):
    """A tensor's part in the radix cache: slice, copy, length."""

    def __getitem__(self, index: Any) -> Any:
        got = super().__getitem__(index)
        return _Slots(got) if isinstance(index, slice) else got

    def clone(self) -> _Slots:
        return _Slots(self)


@dataclass
class _Params:
    """Stands for the parameter classes: any fields."""

    values: dict[str, Any] = field(default_factory=dict)

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class _Anything:
    """Accepts every call and attribute; what the cache reports events to."""

    def __init__(self, *args: Any, **values: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **values: None


STRATEGY_CLASSES = {
    "lru": "LRUStrategy",
    "lfu": "LFUStrategy",
    "slru": "SLRUStrategy",
    "priority": "PriorityStrategy",
    "mru": "MRUStrategy",
}

PARAMETERS = [
    "DecLockRefParams",
    "DecLockRefResult",
    "EvictParams",
    "EvictResult",
    "IncLockRefResult",
    "InsertParams",
    "InsertResult",
    "MatchPrefixParams",
    "MatchResult",
]


def _module(name: str, **members: Any) -> None:
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made


def _stand_in_packages() -> None:
    """The server's packages without its code, and tensors that are lists."""
    _module(
        "torch",
        Tensor=_Slots,
        int64=int,
        device=type("device", (), {"__init__": lambda self, *a: None}),
        empty=lambda *args, **values: _Slots(),
        cat=lambda parts: _Slots(itertools.chain.from_iterable(parts)),
        tensor=lambda values, **options: _Slots(values),
    )
    for name in ("sglang", "sglang.srt", "sglang.srt.mem_cache", "sglang.srt.utils"):
        _module(name, __path__=[])


def _stand_in_modules(evict_policy: types.ModuleType) -> None:
    """What ``radix_cache`` imports beside ``evict_policy``."""
    base = type("BasePrefixCache", (), {"update_eviction_metrics": lambda self, *a: None})
    _module(
        "sglang.srt.mem_cache.base_prefix_cache",
        BasePrefixCache=base,
        **dict.fromkeys(PARAMETERS, _Params),
    )
    _module("sglang.srt.mem_cache.cache_init_params", CacheInitParams=_Params)
    _module("sglang.srt.mem_cache.events", KVCacheEventRecorder=_Anything, LoRANameTable=_Anything)
    _module(
        "sglang.srt.mem_cache.utils",
        get_eviction_strategy=lambda name, config: getattr(evict_policy, STRATEGY_CLASSES[name])(),
        split_node_hash_value=lambda value, length, page: (None, None),
    )
    _module("sglang.srt.utils.common", ceil_align=lambda value, page: -(-value // page) * page)


def load_server(package: Path) -> types.ModuleType:
    """The server's ``radix_cache`` on stand-ins for everything but ``evict_policy``.

    Raises
    ------
    FileNotFoundError
        Unless the package holds both files.
    ImportError
        If they are those of another release.
    """
    folder = package / "sglang" / "srt" / "mem_cache"
    for name in ("evict_policy.py", "radix_cache.py"):
        if not (folder / name).is_file():
            raise FileNotFoundError(folder / name)
    if "inserted_len" not in (folder / "radix_cache.py").read_text(encoding="utf-8"):
        raise ImportError("radix_cache.py counts a request twice, so it is of an older release")
    _stand_in_packages()
    _stand_in_modules(_execute("sglang.srt.mem_cache.evict_policy", folder / "evict_policy.py"))
    cache = _execute("sglang.srt.mem_cache.radix_cache", folder / "radix_cache.py")
    ticks = itertools.count(1)
    vars(cache)["time"] = types.SimpleNamespace(
        monotonic=lambda: next(ticks), perf_counter=lambda: 0.0
    )
    return cache


def _execute(name: str, file: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Server:
    """The server's cache, driven the way its scheduler does for one request at a time."""

    def __init__(self, module: types.ModuleType, strategy: str, capacity: int) -> None:
        self.module = module
        self.capacity = capacity
        self.cache = module.RadixCache(
            _Params(
                disable=False,
                req_to_token_pool=None,
                token_to_kv_pool_allocator=_Anything(),
                page_size=1,
                is_eagle=False,
                eviction_policy=strategy,
                eviction_policy_config=None,
                enable_kv_cache_events=False,
                dynamo_kv_event_format=False,
                kv_event_lora_names=None,
                enable_metrics=False,
            )
        )

    def key(self, tokens: Sequence[int]) -> Any:
        return self.module.RadixKey(token_ids=array("q", tokens))

    def serve(self, prompt: Sequence[int], answer: Sequence[int], priority: int) -> int:
        cache = self.cache
        found = cache.match_prefix(_Params(key=self.key(prompt)))
        hit: int = found.device_prefix_len
        node = found.last_device_node
        cache.inc_lock_ref(node)
        self._room(len(prompt) - hit, 0)
        leaf = self._insert(prompt, priority, 0)
        cache.inc_lock_ref(leaf)
        cache.dec_lock_ref(node)
        self._room(len(answer), 0)
        self._insert([*prompt, *answer], priority, len(prompt))
        cache.dec_lock_ref(leaf)
        return hit

    def held(self) -> int:
        total: int = self.cache.total_size()
        return total

    def _insert(self, tokens: Sequence[int], priority: int, inserted: int) -> Any:
        params = _Params(
            key=self.key(tokens),
            value=_Slots(tokens),
            priority=priority,
            inserted_len=inserted,
        )
        return self.cache.insert(params).last_device_node

    def _room(self, tokens: int, private: int) -> None:
        short = tokens - (self.capacity - self.held() - private)
        if short > 0:
            self.cache.evict(_Params(num_tokens=short))

    def nodes(self) -> dict[tuple[int, ...], tuple[int, int]]:
        """Whole paths in tokens to hit count and priority."""
        found: dict[tuple[int, ...], tuple[int, int]] = {}

        def walk(node: Any, path: tuple[int, ...]) -> None:
            for child in node.children.values():
                end = (*path, *child.key.token_ids)
                found[end] = (child.hit_count, child.priority)
                walk(child, end)

        walk(self.cache.root_node, ())
        return found


def ours(cache: RadixCache, tokens: dict[int, list[int]]) -> dict[tuple[int, ...], tuple[int, int]]:
    """The same of our cache."""

    def path(node: Node) -> tuple[int, ...]:
        above = path(node.parent) if node.parent is not None else ()
        return (*above, *itertools.chain.from_iterable(tokens[b] for b in node.blocks))

    return {path(n): (n.hit_count, n.priority) for n in cache.nodes()}


def differing(module: types.ModuleType, strategy: str, requests: int, seed: int) -> str | None:
    """The first difference under one strategy, or None."""
    rng = random.Random(seed)
    capacity = 24
    weights = list(WEIGHTS)
    tokens = {b: [10 * b + i for i in range(w)] for b, w in enumerate(weights)}
    server = Server(module, strategy, capacity)
    cache = RadixCache(weights, capacity, STRATEGIES[f"sglang_{strategy}"].scorer())
    for n in range(requests):
        prompt = [rng.randrange(len(WEIGHTS)) for _ in range(rng.randint(0, 6))]
        generated: list[int] = []
        if rng.random() < 0.5:
            size = rng.randint(1, 3)
            generated = [len(weights)]
            tokens[len(weights)] = [10 * len(weights) + 1000 + i for i in range(size)]
            weights.append(size)
        priority = rng.randrange(3)
        flat = [t for b in prompt for t in tokens[b]]
        answer = [t for b in generated for t in tokens[b]]
        if len(flat) + len(answer) > capacity:
            continue
        hit = server.serve(flat, answer, priority)
        _, found = cache.serve(prompt, len(flat), generated, len(flat) + len(answer), priority)
        if found != hit or cache.used != server.held() or ours(cache, tokens) != server.nodes():
            return f"request {n}: {found} and {hit} tokens found, {cache.used} and {server.held()} held"
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Compare; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", type=Path, required=True, metavar="DIR")
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    try:
        module = load_server(args.package)
    except (FileNotFoundError, ImportError) as error:
        print(f"not an unpacked SGLang 0.5.22 or 0.5.23: {error}", file=sys.stderr)
        return 2
    code = 0
    for strategy in STRATEGY_CLASSES:
        found = differing(module, strategy, args.requests, args.seed)
        print(f"{strategy:9} {'agrees' if found is None else 'DIFFERS at ' + found}")
        code = code or int(found is not None)
    return code


if __name__ == "__main__":
    sys.exit(main())
