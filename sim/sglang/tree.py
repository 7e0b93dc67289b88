"""SGLang's radix cache: structure, counters, eviction.

The server's rules, as its radix cache and its pull requests state them:

* A walk touches every node it enters, also one that it leaves in the middle; that one is split,
  and both halves carry the new time. The *new* object is the upper half; it inherits hit count,
  priority and creation time.
* The hit count moves on insertion only: one more on every existing node of the path, one on a new
  leaf. A request's prompt is inserted twice, when its prefill ends and when it finishes. Servers
  from 0.5.10 to 0.5.21 counted both, so that a node started at two (sgl-project/sglang#30689);
  later ones count a request once, earlier ones not at all (`counting`).
* An insertion raises the priority of every node on its path to the request's.
* When memory is short, leaves that no running request holds are evicted in order of their score,
  whole nodes, until enough tokens are free; so an eviction overshoots. A parent left without
  children joins the candidates at once. Older servers ask for the whole allocation, current ones for
  the shortfall (`evict_whole_request`).

Left out: requests in service at the same time, chunked prefill, the host tier, sessions, disjoint
trees by LoRA or cache salt (an id of the log is taken to differ where those do), the page that a
paged server allocates in excess, and the rule that at least one prompt token is computed.

The server builds a heap of all leaves at each eviction. Here one heap is kept, an entry is pushed
whenever a leaf's score may have changed, and a popped entry counts only if it is still the score of a
resident leaf: the same order in logarithmic time. Evidence: a model without that shortcut
(tests/sim/sglang/test_sglang_model.py), and the server's own code where its package is installed
(scripts/check/sglang_release.py: hits, sizes, hit counts and priorities of every node after each request).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.sglang.strategies import Score, Scorer
from cache_worthy.sim.sglang.versions import Counting


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree."""

    id: int
    """Order of creation."""
    parent: Node | None
    blocks: list[int]
    """Dense ids."""
    tokens: int
    """Its own."""
    end: int = 0
    """Tokens from the root to its end."""
    children: dict[int, Node] = field(default_factory=dict)
    """By first block."""
    hit_count: int = 0
    priority: int = 0
    last_access: int = 0
    """Times are the cache's clock."""
    created: int = 0
    history: int = 0
    """Tokens of the longest prompt ever inserted through it."""
    locked: bool = False
    alive: bool = True


class RadixCache:
    """The cache of one server.

    Parameters
    ----------
    weights : sequence of int
        Tokens of each dense block id.
    capacity : int
        Tokens.
    score : callable
        The strategy's scoring function.
    counting : {"once", "twice", "never"}
        Whether the insertions of a request move the hit count once, both, or not at all.
    evict_whole_request : bool
        Ask the eviction for the whole allocation instead of the shortfall.
    """

    def __init__(
        self,
        weights: Sequence[int],
        capacity: int,
        score: Scorer,
        *,
        counting: Counting = "once",
        evict_whole_request: bool = False,
    ) -> None:
        self.weights = weights
        self.capacity = capacity
        self.score = score
        self.counting = counting
        self.evict_whole_request = evict_whole_request
        self.root = Node(0, None, [], 0)
        self.created = 0
        self.clock = 0
        self.used = 0
        self.private = 0  # tokens of the request in service that no node holds
        self.evictions = 0
        self.evicted_tokens = 0
        self._heap: list[tuple[Score, int, Node]] = []

    def serve(
        self,
        prompt: Sequence[int],
        prompt_room: int,
        generated: Sequence[int] = (),
        total_room: int | None = None,
        priority: int = 0,
    ) -> tuple[int, int]:
        """Serve one request; the blocks and tokens of its prompt that were cached.

        Parameters
        ----------
        prompt, generated : sequence of int
            Blocks of the prompt, cut to pages, and those that the finished request adds.
        prompt_room, total_room : int
            Tokens of memory of the prompt, and of all at the finish (by default the same).

        Raises
        ------
        InvariantError
            When the request does not fit, which a capacity check in advance excludes.
        """
        total_room = prompt_room if total_room is None else total_room
        node, matched = self.match(prompt)
        hit = node.end
        self._lock(node)
        self._allocate(prompt_room - hit)
        leaf = self.insert(prompt, priority)
        self.private -= leaf.end - hit
        self._lock(leaf)
        self._allocate(total_room - prompt_room)
        last = self.insert([*prompt, *generated], priority, count=self.counting == "twice")
        self._unlock(last)
        self.private = 0
        return matched, hit

    def match(self, blocks: Sequence[int]) -> tuple[Node, int]:
        """Walk down as far as the blocks are cached; split where the walk leaves a node.

        Returns the last node of the path (the root for nothing) and the blocks matched.
        """
        self.clock += 1
        node = self.root
        i = 0
        while i < len(blocks) and (child := node.children.get(blocks[i])) is not None:
            node, k = self._enter(child, blocks, i)
            i += k
        return node, i

    def insert(self, blocks: Sequence[int], priority: int, *, count: bool = True) -> Node:
        """Insert a path and return its last node; ``count`` the nodes that exist once more."""
        self.clock += 1
        count = count and self.counting != "never"
        length = sum(map(self.weights.__getitem__, blocks))
        node = self.root
        i = 0
        while i < len(blocks) and (child := node.children.get(blocks[i])) is not None:
            node, k = self._enter(child, blocks, i)
            i += k
            node.priority = max(node.priority, priority)
            node.history = max(node.history, length)
            node.hit_count += count
            self._offer(node)
        if i == len(blocks):
            return node
        rest = list(blocks[i:])
        leaf = self._new(node, rest, sum(map(self.weights.__getitem__, rest)))
        leaf.hit_count = int(self.counting != "never")
        leaf.priority = priority
        leaf.history = length
        leaf.last_access = leaf.created = self.clock
        node.children[rest[0]] = leaf
        self.used += leaf.tokens
        self._offer(leaf)
        return leaf

    def evict(self, tokens: int) -> int:
        """Evict whole nodes until ``tokens`` are freed or no candidate is left."""
        freed = 0
        held: list[tuple[Score, int, Node]] = []
        heap = self._heap
        while freed < tokens and heap:
            entry = heappop(heap)
            score, _, node = entry
            if not node.alive or node.children or score != self.score(node):
                continue
            if node.locked:
                held.append(entry)
                continue
            parent = node.parent
            if parent is None:
                raise InvariantError("the root was a candidate")
            del parent.children[node.blocks[0]]
            node.alive = False
            self.used -= node.tokens
            freed += node.tokens
            self.evictions += 1
            if not parent.children:
                self._offer(parent)
        for entry in held:
            heappush(heap, entry)
        self.evicted_tokens += freed
        return freed

    def nodes(self) -> list[Node]:
        """Every node but the root."""
        found: list[Node] = []
        stack = list(self.root.children.values())
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(node.children.values())
        return found

    def check(self) -> None:
        """Recount sizes, depths and candidates from scratch; raise InvariantError on a mismatch."""
        used = 0
        offered = {(node.id, score) for score, _, node in self._heap if node.alive}
        for node in self.nodes():
            parent = node.parent
            if parent is None or parent.children.get(node.blocks[0]) is not node:
                raise InvariantError(f"node {node.id} is not its parent's child")
            tokens = sum(self.weights[b] for b in node.blocks)
            if not 0 < tokens == node.tokens == node.end - parent.end:
                raise InvariantError(f"node {node.id} counts {node.tokens} tokens, has {tokens}")
            if not node.children and (node.id, self.score(node)) not in offered:
                raise InvariantError(f"leaf {node.id} is no candidate")
            used += tokens
        if used != self.used or self.used + self.private > self.capacity:
            raise InvariantError(f"{self.used} tokens counted, {used} held, of {self.capacity}")

    def _enter(self, child: Node, blocks: Sequence[int], start: int) -> tuple[Node, int]:
        """Touch a child, split it where the blocks leave it; the node reached and its length."""
        child.last_access = self.clock
        label = child.blocks
        k = 1
        most = min(len(label), len(blocks) - start)
        while k < most and label[k] == blocks[start + k]:
            k += 1
        if k < len(label):
            return self._split(child, k), k
        self._offer(child)
        return child, k

    def _split(self, child: Node, k: int) -> Node:
        parent = child.parent
        if parent is None:
            raise InvariantError("the root was split")
        tokens = sum(map(self.weights.__getitem__, child.blocks[:k]))
        upper = self._new(parent, child.blocks[:k], tokens)
        upper.hit_count = child.hit_count
        upper.priority = child.priority
        upper.created = child.created
        upper.history = child.history
        upper.locked = child.locked
        upper.last_access = self.clock
        parent.children[upper.blocks[0]] = upper
        child.blocks = child.blocks[k:]
        child.tokens -= tokens
        child.parent = upper
        upper.children[child.blocks[0]] = child
        self._offer(child)
        return upper

    def _new(self, parent: Node, blocks: list[int], tokens: int) -> Node:
        self.created += 1
        return Node(self.created, parent, blocks, tokens, parent.end + tokens)

    def _offer(self, node: Node) -> None:
        """Push a leaf with its score of now."""
        if not node.children and node.parent is not None:
            heappush(self._heap, (self.score(node), node.id, node))

    def _allocate(self, tokens: int) -> None:
        free = self.capacity - self.used - self.private
        if free < tokens:
            self.evict(tokens if self.evict_whole_request else tokens - free)
            free = self.capacity - self.used - self.private
            if free < tokens:
                raise InvariantError(f"{tokens} tokens wanted, {free} free after eviction")
        self.private += tokens

    def _lock(self, node: Node | None) -> None:
        while node is not None and not node.locked:
            node.locked = True
            node = node.parent

    def _unlock(self, node: Node | None) -> None:
        while node is not None:
            node.locked = False
            node = node.parent
