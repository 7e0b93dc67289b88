"""Prompts to block ids, hashed as engines hash them: (parent, tokens of the block, extra keys).

Without a tokeniser the characters of the block are taken for its tokens, as many as are estimated or
as a given ratio says: two prompts share a block exactly when they share all characters up to its end,
and only the scale (blocks per prompt) depends on the estimate. The model or salt of a request enters at the root, which by the chain is in every block,
so different salts share nothing (vLLM: ``cache_salt``; SGLang: ``extra_key``).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from cache_worthy.errors import UsageError
from cache_worthy.logs.chat import Chat, Message
from cache_worthy.logs.chat_templates import load_template
from cache_worthy.logs.estimate import count_kinds, token_ends
from cache_worthy.logs.evidence import Evidence
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.prompts import Blocks, Prompt, Tokens, Unusable, kind
from cache_worthy.logs.tokenizers import load_tokenizer
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, BlockId, Request

REDACTED = "redacted-by-litellm"
"""What LiteLLM writes for every prompt, under ``turn_off_message_logging``, to all its loggers."""


def chunk_ids(prompt: str, ends: Iterable[int], root: bytes = b"") -> tuple[int, ...]:
    """Chained 63-bit hashes of the prompt's blocks, which end after these characters.

    BLAKE2b, not ``hash()``: the latter is salted per process, which would break determinism.

    Examples
    --------
    >>> a, b = chunk_ids("shared, then this", [8, 17]), chunk_ids("shared, and then", [8, 16])
    >>> a[0] == b[0], a[1] == b[1]
    (True, False)
    """
    ids = []
    parent, start = root, 0
    plain = prompt.encode("ascii") if prompt.isascii() else None
    for end in ends:
        chunk = plain[start:end] if plain else prompt[start:end].encode("utf-8", "surrogatepass")
        parent = blake2b(parent + chunk, digest_size=8).digest()
        ids.append(_number(parent))
        start = end
    return tuple(ids)


def token_block_ids(
    tokens: Sequence[int], block_tokens: int, root: bytes = b"tokens"
) -> tuple[int, ...]:
    """Chained 63-bit hashes of the blocks of token ids (integers of 32 bits), as :func:`chunk_ids`.

    Examples
    --------
    >>> a, b = token_block_ids([1, 2, 3], 2), token_block_ids([1, 2, 4], 2)
    >>> a[0] == b[0], a[1] == b[1]
    (True, False)
    """
    ids = []
    parent = root
    for start in range(0, len(tokens), block_tokens):
        chunk = tokens[start : start + block_tokens]
        parent = blake2b(parent + struct.pack(f"<{len(chunk)}I", *chunk), digest_size=8).digest()
        ids.append(_number(parent))
    return tuple(ids)


def rekeyed(block: int, key: bytes) -> int:
    """A block id under a secret key: equal ids stay equal, and none can be guessed from a prompt.

    Examples
    --------
    >>> rekeyed(7, b"k") == rekeyed(7, b"k") != rekeyed(7, b"another")
    True
    """
    return _number(blake2b(block.to_bytes(8, "big"), digest_size=8, key=key).digest())


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "big") >> 1


_Cut = tuple[tuple[BlockId, ...], int, str | Sequence[int]]


class Cutter:
    """Turns prompts into requests and remembers what that needed.

    Ids that are texts are interned: memory grows with distinct blocks, plus one pointer per block
    reference. ``intern`` is off for a caller that keeps no request; then nothing grows.

    Attributes
    ----------
    block_tokens : int or None
        Tokens in one block, once the first request has fixed it.
    from_chat : bool
        Whether the log has messages.
    kinds : Counter
        Characters by kind of the texts whose tokens were estimated.
    estimated : int
        Their tokens.
    evidence : Evidence
        What the prompts say about why they share nothing.
    """

    def __init__(self, options: ReadOptions, *, intern: bool = True) -> None:
        self.options = options
        self.intern = intern
        self.encode = load_tokenizer(options.tokenizer)
        self.render = load_template(options.template)
        self.block_tokens: int | None = None
        self.from_chat = False
        self.kinds: Counter[str] = Counter()
        self.estimated = 0
        self.evidence = Evidence()
        self._intern: dict[BlockId, BlockId] = {}
        self._roots: dict[tuple[str | None, str | None], bytes] = {}

    def request(self, prompt: Prompt) -> Request:
        """Cut one prompt.

        Raises
        ------
        Unusable
            If it has no text, or only a placeholder for withheld text; no tokens; another block size
            than the log; or is cut and has no whole block.
        """
        content = prompt.content
        length = prompt.input_length
        if isinstance(content, Blocks):
            block = self._block(content.block_tokens or BLOCK_SIZE_TOKENS, content.binding)
            ids = self._apart(content.ids, prompt)
            length = len(ids) * block if length is None else length
        elif isinstance(content, Tokens):
            ids, length, start = self._tokens(content.ids, prompt)
            self.evidence.tokens = True
            if ids:
                tokens: Any = content.ids  # integers, or _tokens had refused them
                apart = prompt.model, prompt.salt
                self.evidence.preambles.add_tokens(ids[0], tokens, apart=apart)
                self.evidence.starts.add(ids[0], start, apart=apart)
        else:
            _require_text(content)
            self.from_chat |= isinstance(content, Chat)
            self.evidence.texts = True
            text = self._text(content, prompt)
            ids, length, start = self._cut(text, prompt)
            if self.estimates:
                self.kinds.update(count_kinds(text))
                self.estimated += length
            if ids:
                apart = prompt.model, prompt.salt
                self.evidence.starts.add(ids[0], start, apart=apart)
                self._note(prompt, text, ids)
        if prompt.cut and not ids:
            raise Unusable(
                "the log cut this prompt before its first block ended; choose a smaller "
                "--block-size, or log whole prompts (SGLang: --log-requests-level 3; vLLM: no "
                "--max-log-len)"
            )
        if self.intern and not set(map(type, ids)) <= {int}:
            keep = self._intern.setdefault
            ids = [keep(i, i) for i in ids]
        return Request(
            hash_ids=tuple(ids),
            input_length=length,
            output_length=prompt.output_length,
            timestamp=prompt.timestamp,
            priority=prompt.priority,
        )

    @property
    def estimates(self) -> bool:
        """Whether tokens of text are estimated from the kinds of its characters."""
        return self.encode is None and self.options.chars_per_token is None

    @property
    def chars_per_token(self) -> float:
        """As given, or the mean of what was estimated; 4 where neither was needed."""
        if self.options.chars_per_token is not None:
            return self.options.chars_per_token
        return self.kinds.total() / self.estimated if self.estimated else 4.0

    def _text(self, content: Chat | str, prompt: Prompt) -> str:
        text = self.render(content) if isinstance(content, Chat) else content
        return text.partition(prompt.cut_mark)[0] if prompt.cut_mark else text

    def _cut(self, text: str, prompt: Prompt) -> _Cut:
        """Block ids of a text, its length in tokens, and its first block."""
        if self.encode is not None:
            try:
                tokens = self.encode(text)
            except (UnicodeError, TypeError):  # a lone surrogate: no UTF-8 exists for it
                tokens = self.encode(text.encode("utf-8", "replace").decode("utf-8"))
            return self._tokens(tokens, prompt)
        block, root = self._block(None, False), self._root(prompt, b"")
        size, ratio = self.options.chars_per_block, self.options.chars_per_token
        if size is None or ratio is None:
            ends, length = token_ends(text, block)
            # Where a cut text ends is not where a block does, or by chance.
            start = text[: ends[0]] if ends else ""
            return chunk_ids(text, ends[:-1] if prompt.cut else ends, root), length, start
        last = len(text) if prompt.cut else len(text) + size - 1
        ids = chunk_ids(text, range(size, last + 1, size), root)
        return ids, -int(-len(text) // ratio), text[:size]

    def _note(self, prompt: Prompt, text: str, ids: Sequence[BlockId]) -> None:
        """Keep of a prompt what may explain that it shares nothing."""
        evidence, content = self.evidence, prompt.content
        evidence.preambles.add(ids[0], text, apart=(prompt.model, prompt.salt))
        if isinstance(content, Chat) and content.tools:
            first = evidence.tools.first_order(content.tools)
            if first != content.tools and ids[-1] not in evidence.reordered:
                other = self._text(Chat(content.messages, first), prompt)
                evidence.reordered[ids[-1]] = tuple(self._cut(other, prompt)[0])

    def _tokens(self, tokens: Sequence[object], prompt: Prompt) -> _Cut:
        if not set(map(type, tokens)) <= {int}:
            bad = next(t for t in tokens if type(t) is not int)
            raise Unusable(f"token ids: expected integers, got {kind(bad)}")
        block = self._block(None, False)
        try:
            ids = token_block_ids(tokens, block, self._root(prompt, b"tokens"))  # type: ignore[arg-type]
        except struct.error as error:
            raise Unusable("token ids: expected integers from 0 to 4294967295") from error
        if prompt.cut:
            ids = ids[: len(tokens) // block]
        start: Any = tokens[:block]
        return ids, len(tokens), start

    def _block(self, stated: int | None, binding: bool) -> int:
        asked = self.options.block_size
        if binding and stated is not None and asked is not None and asked != stated:
            raise UsageError(
                f"--block-size {asked}: this log states {stated} tokens per block; leave the option out"
            )
        block = stated if binding and stated else asked or stated or self.options.block_tokens
        if self.block_tokens is None:
            self.block_tokens = block
        elif self.block_tokens != block:
            raise Unusable(f"blocks of {block} tokens in a log that began with {self.block_tokens}")
        return block

    def _root(self, prompt: Prompt, plain: bytes) -> bytes:
        if prompt.model is None and prompt.salt is None:
            return plain
        key = (prompt.model, prompt.salt)
        if (root := self._roots.get(key)) is None:
            text = "\0".join("-" if k is None else f"+{k}" for k in key)
            root = blake2b(
                plain + text.encode("utf-8", "surrogatepass"), digest_size=16, person=b"extra keys"
            ).digest()
            if self.intern or len(self._roots) < 1000:
                self._roots[key] = root
        return root

    def _apart(self, ids: Sequence[BlockId], prompt: Prompt) -> Sequence[BlockId]:
        """Ids of different models or salts made different."""
        root = self._root(prompt, b"")
        if not root:
            return ids
        texts = (repr(i).encode("utf-8", "surrogatepass") for i in ids)
        return [_number(blake2b(root + text, digest_size=8).digest()) for text in texts]


def _require_text(content: Chat | str) -> None:
    """No server prefills an empty prompt, and one placeholder for all would look like sharing."""
    chat = content if isinstance(content, Chat) else Chat((Message("", content),))
    if chat.tools or any(m.calls for m in chat.messages):
        return
    texts = {m.content for m in chat.messages}
    if texts <= {""}:
        raise Unusable("the prompt is empty; log requests with their prompts, unmasked")
    if texts == {REDACTED}:
        raise Unusable(
            "the prompt was redacted before it was logged; LiteLLM: no turn_off_message_logging, or "
            "its prefix_block_hashes callback"
        )
