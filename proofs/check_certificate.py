"""Check a certificate of a lower bound against the trace it speaks of.

    python proofs/check_certificate.py TRACE CERTIFICATE

TRACE is the canonical trace, Mooncake JSONL (what ``cache-worthy convert LOG -o trace.jsonl``
writes): one JSON object per line, of which only ``hash_ids`` is read. CERTIFICATE is what
``cache-worthy bound LOG --certificate FILE`` writes. Standard library only; nothing of the project
is imported, and nothing a solver said is trusted: the references, their intervals and the bound are
derived again from the trace in exact integers.

What is proved. A schedule serves the requests in order from an empty cache of ``capacity`` blocks;
at a request its whole path is resident, blocks missing are loaded at ``cost``, and nothing else is
loaded. Take any such schedule, and let a *kept interval* be a block held from one request that uses
it (at s) to the next one that does (at t). The schedule pays every first load and every interval it
does not keep; intervals with t = s + 1 are kept for free. At request r the kept intervals with
s < r < t hold blocks outside the path of r, at most ``capacity - len(path)`` of them. With prices
lambda_r >= 0 on that room,

    paid >= first loads + intervals - sum lambda_r (capacity - len(path r))
            - sum over kept intervals of (cost - lambda_{s+1} - ... - lambda_{t-1})

and of the blocks of request t last used at s, one depth range, a schedule keeps a prefix (a block is
only a hit below a hit), so the last sum is at most the best prefix of each range. A *link* prices
mu >= 0 on "this interval is kept only if the parent's interval inside it is", which adds -mu to the
child's and +mu to the parent's; it holds for hits by prefix when both end at the same request, and
else for ancestor-closed caches. Valid for any prices; better prices give a higher bound.

Exit code: 0 certified, 1 refused (another trace, a bad price, a claim above what the prices give),
2 could not run.
"""

from __future__ import annotations

import hashlib
import json
import sys
from itertools import accumulate, pairwise
from typing import Any

FORMAT = "cache-worthy certificate 1"


class Refused(Exception):
    """The certificate does not hold for this trace."""


class Unreadable(Exception):
    """A file that cannot be read as what it should be."""


def main(argv: list[str]) -> int:
    """Run the check; see the module's text for the exit codes."""
    if len(argv) != 2:
        print("usage: check_certificate.py TRACE CERTIFICATE", file=sys.stderr)
        return 2
    try:
        certificate = read_certificate(argv[1])
        terminal, parent, depth = read_trace(argv[0])
        print(check(certificate, terminal, parent, depth))
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    except UnicodeDecodeError as error:
        print(f"cannot check: not UTF-8 text ({error.reason}); unpack it first", file=sys.stderr)
        return 2
    except RecursionError:
        print("cannot check: nested too deeply", file=sys.stderr)
        return 2
    except (OSError, ValueError, Unreadable) as error:
        print(f"cannot check: {error}", file=sys.stderr)
        return 2
    return 0


def read_trace(name: str) -> tuple[list[int], list[int], list[int]]:
    """Intern blocks by (parent, id): the last block of each request, parents, depths from 0."""
    number: dict[tuple[int, object], int] = {}
    terminal: list[int] = []
    parent: list[int] = []
    depth: list[int] = []
    with open(name, encoding="utf-8-sig", newline="\n") as lines:
        for count, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                ids = json.loads(line)["hash_ids"]
            except (ValueError, KeyError, TypeError) as error:
                raise Unreadable(f"{name}, line {count}: no JSON object with hash_ids") from error
            if not isinstance(ids, list) or not all(type(i) in (int, str) for i in ids):
                raise Unreadable(f"{name}, line {count}: hash_ids must be a list of ids")
            block = -1
            for d, i in enumerate(ids):
                child = number.setdefault((block, i), len(parent))
                if child == len(parent):
                    parent.append(block)
                    depth.append(d)
                block = child
            if block >= 0:  # a request without blocks loads nothing
                terminal.append(block)
    return terminal, parent, depth


def read_certificate(name: str) -> dict[str, Any]:
    """The document, with the type of every field checked."""
    with open(name, encoding="utf-8-sig") as file:
        try:
            data = json.load(file)
        except ValueError as error:
            raise Unreadable(f"{name}: not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise Unreadable(f'{name}: not a certificate, format is not "{FORMAT}"')

    def need(ok: bool, what: str) -> None:
        if not ok:
            raise Unreadable(f"{name}: {what}")

    trace, cost = data.get("trace"), data.get("cost")
    need(isinstance(trace, dict) and isinstance(trace.get("sha256"), str), "trace.sha256 missing")
    need(
        isinstance(cost, dict) and integers(cost.get("cumulative")),
        "cost.cumulative must be a list of integers",
    )
    need(integers(data.get("prices")), "prices must be a list of integers")
    links = data.setdefault("links", [])
    need(
        isinstance(links, list) and all(integers(row) and len(row) == 4 for row in links),
        "links must be rows of four integers",
    )
    for key in ("capacity_blocks", "unit", "denominator"):
        need(integers([data.get(key)]), f"{key} must be an integer")
    claim = data.get("lower_bound")
    need(claim is None or integers([claim]), "lower_bound must be an integer or null")
    return data


def integers(value: object) -> bool:
    """Whether this is a list of integers, booleans excluded."""
    return isinstance(value, list) and all(type(x) is int for x in value)


def digest(terminal: list[int], parent: list[int]) -> str:
    """SHA-256 of the requests: one line each, blocks numbered by first appearance, in decimal."""
    seen = hashlib.sha256()
    for block in terminal:
        path = []
        while block >= 0:
            path.append(str(block))
            block = parent[block]
        seen.update((" ".join(reversed(path)) + "\n").encode("ascii"))
    return seen.hexdigest()


def check(
    certificate: dict[str, Any], terminal: list[int], parent: list[int], depth: list[int]
) -> str:
    """Evaluate the certificate; returns the sentence that it proves."""
    require_form(certificate, terminal, parent, depth)
    terms, closed = link_terms(certificate["links"], certificate["unit"], terminal, parent, depth)
    certified, compulsory = evaluate(certificate, terms, terminal, parent)
    claim = certificate.get("lower_bound")
    if claim is not None and claim > certified:
        raise Refused(f"the certificate claims {claim}, its prices give {certified}")
    ratio = decimal(certified, compulsory) if compulsory else "1.000000"
    whom = "that pins the requested path and counts hits by prefix"
    if closed:
        whom += ", with ancestor-closed residency"
    return (
        f"certified lower bound {certified}\n"
        f"{ratio} times compulsory {compulsory}, for every demand-paging schedule {whom},\n"
        f"at {certificate['capacity_blocks']} blocks, {len(terminal)} requests, "
        f"{len(parent)} distinct blocks,\n"
        f"in the costs that the certificate states, which are not checked: {described(certificate)}"
    )


def require_form(
    certificate: dict[str, Any], terminal: list[int], parent: list[int], depth: list[int]
) -> None:
    """Refuse a certificate of another trace, or of values that prove nothing."""
    have = digest(terminal, parent)
    if certificate["trace"]["sha256"] != have:
        raise Refused(
            f"the certificate is for trace {certificate['trace']['sha256'][:16]}, "
            f"this one is {have[:16]}"
        )
    capacity: int = certificate["capacity_blocks"]
    upto: list[int] = certificate["cost"]["cumulative"]
    prices: list[int] = certificate["prices"]
    longest = max((depth[b] + 1 for b in terminal), default=0)
    if capacity < longest:
        raise Refused(f"capacity {capacity} is below the longest path, {longest}")
    if certificate["unit"] < 1 or certificate["denominator"] < 1:
        raise Refused("unit and denominator must be positive")
    if len(upto) <= longest or upto[0] != 0 or any(a > b for a, b in pairwise(upto)):
        raise Refused("cost.cumulative must start at 0, not fall, and reach the longest path")
    if len(prices) != len(terminal):
        raise Refused(f"{len(prices)} prices for {len(terminal)} requests")
    if min(prices, default=0) < 0:
        raise Refused("a price is negative")


def evaluate(
    certificate: dict[str, Any],
    extra: dict[tuple[int, int], int],
    terminal: list[int],
    parent: list[int],
) -> tuple[int, int]:
    """The bound that the prices prove, and the cost of the first loads."""
    capacity: int = certificate["capacity_blocks"]
    unit: int = certificate["unit"]
    scale: int = certificate["denominator"]
    upto: list[int] = certificate["cost"]["cumulative"]
    prices: list[int] = certificate["prices"]
    # Everything below counts in 1 / scale of the cost's own unit.
    before = [0, *accumulate(unit * p for p in prices)]
    bound = compulsory = 0
    last = [-1] * len(parent)
    for t, end in enumerate(terminal):
        path = []
        block = end
        while block >= 0:
            path.append(block)
            block = parent[block]
        path.reverse()
        bound -= unit * prices[t] * (capacity - len(path))
        since, running, best = -2, 0, 0
        for d, block in enumerate(path):
            cost = upto[d + 1] - upto[d]
            s, last[block] = last[block], t
            if s < 0:
                compulsory += cost
            if s != since:  # a new depth range
                bound -= best
                since, running, best = s, 0, 0
            if s < 0:
                bound += scale * cost
            elif s < t - 1:
                bound += scale * cost
                running += scale * cost - (before[t] - before[s + 1]) + extra.get((t, d), 0)
                best = max(best, running)
        bound -= best
    return -(-bound // scale), compulsory  # costs are integers, so the optimum is


def decimal(part: int, whole: int) -> str:
    """``part / whole`` rounded down to six decimals, in integers: no size overflows."""
    sign = "-" if part < 0 else ""
    quotient, rest = divmod(abs(part) * 10**6 // whole, 10**6)
    return f"{sign}{quotient}.{rest:06d}"


def described(certificate: dict[str, Any]) -> str:
    """What the certificate says of its costs, and the first of them."""
    upto = certificate["cost"]["cumulative"]
    text = json.dumps(str(certificate["cost"].get("description", "none")))[:80]  # on one line
    return f"{text}, first {upto[:3]}"


def link_terms(
    links: list[list[int]],
    unit: int,
    terminal: list[int],
    parent: list[int],
    depth: list[int],
) -> tuple[dict[tuple[int, int], int], bool]:
    """What links add at (request that ends the interval, depth); whether closure is needed."""
    if not links:
        return {}, False
    for request, d, parent_end, price in links:
        if not (0 <= parent_end <= request < len(terminal)) or d < 1 or price < 0:
            raise Refused(f"link {[request, d, parent_end, price]} is out of range")
    # The block and the start of the interval at every (request, depth) that a link names.
    wanted: dict[int, set[int]] = {}
    for request, d, parent_end, _ in links:
        wanted.setdefault(request, set()).add(d)
        wanted.setdefault(parent_end, set()).add(d - 1)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    last = [-1] * len(parent)
    for t, end in enumerate(terminal):
        here = wanted.get(t, set())
        block = end
        while block >= 0:
            if depth[block] in here:
                found[t, depth[block]] = (block, last[block])
            last[block] = t
            block = parent[block]
    extra: dict[tuple[int, int], int] = {}
    for request, d, parent_end, price in links:
        child, above = found.get((request, d)), found.get((parent_end, d - 1))
        if child is None or above is None or parent[child[0]] != above[0]:
            raise Refused(f"link {[request, d, parent_end, price]} names no child and parent")
        if not 0 <= child[1] <= above[1] or child[1] >= request - 1 or above[1] >= parent_end - 1:
            raise Refused(
                f"link {[request, d, parent_end, price]} names no interval inside another"
            )
        extra[request, d] = extra.get((request, d), 0) - unit * price
        extra[parent_end, d - 1] = extra.get((parent_end, d - 1), 0) + unit * price
    return extra, any(request != parent_end for request, _, parent_end, _ in links)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
