"""A model and what it costs: prefill FLOPs and bytes of KV cache.

Prefilling ``n`` tokens through a decoder-only transformer, multiply and add counted apart::

    projections and feed-forward   2 FLOPs per parameter and token   2 N n
    scores and weighted values     n^2 / 2 causal pairs, each        2 layers heads head_dim n^2
                                   2 * 2 * heads * head_dim FLOPs

so ``prefill(n) = a n + b n^2`` with ``a = 2 N`` and ``b = 2 layers heads head_dim``; ``N`` counts the
attention and feed-forward weights that a token uses, without embeddings and norms. Layers that do
not see every earlier token add ``rest(n)`` instead of their share of ``b``.

Evidence: rank 1, parameter counts, KV bytes and checkpoint sizes as published, for every kind of
layer (tests/sim/models).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import lru_cache

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import checked, shown
from cache_worthy.sim.models.geometry import FeedForward, Geometry, LayerGroup
from cache_worthy.sim.models.layers import Attention, Keeps
from cache_worthy.sim.models.precision import WeightPrecision

HALF = Fraction(1, 2)

CONSTANTS = (
    "name", "layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff", "dtype_bytes", "vocabulary"
)  # fmt: skip
"""The fields of a model that a file gives."""

_HIDDEN = {"json": False}


@dataclass(frozen=True, slots=True)
class Model:
    """Architecture constants of a decoder-only transformer.

    Attributes
    ----------
    name : str
    layers, d_model, heads, kv_heads, head_dim, d_ff : int
        Positive. ``d_ff`` is the width of a gated (three-matrix) feed-forward block; with experts, of
        those that a token passes, together.
    dtype_bytes : int or Fraction
        Bytes of one KV element, a half allowed.
    vocabulary : int
        Rows of the embedding matrix, 0 if unknown; used for ``parameters_total`` only.
    layered : Geometry or None
        The layers, where they are not equal ones with attention of every earlier token; the
        constants are then those of its attention.
    weights : WeightPrecision
    index_width : int or None
        Bits of an element of an indexer's keys; None for those of the KV cache.
    """

    name: str
    layers: int
    d_model: int
    heads: int
    kv_heads: int
    head_dim: int
    d_ff: int
    dtype_bytes: int | Fraction = 2
    vocabulary: int = 0
    _: KW_ONLY
    layered: Geometry | None = field(default=None, hash=False, repr=False, metadata=_HIDDEN)
    weights: WeightPrecision = field(
        default=WeightPrecision(), hash=False, repr=False, metadata=_HIDDEN
    )
    index_width: int | None = field(default=None, hash=False, repr=False, metadata=_HIDDEN)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"model: name: expected a string, got {shown(self.name)}")
        for name in CONSTANTS[1:]:
            value = getattr(self, name)
            if name == "dtype_bytes" and type(value) is Fraction and value == HALF:
                continue
            checked(f"model: {name}", value, 0 if name == "vocabulary" else 1)
        if self.heads % self.kv_heads:
            raise InputError(
                f"model: kv_heads: expected a divisor of heads = {self.heads}, got {self.kv_heads}"
            )

    @property
    def geometry(self) -> Geometry:
        """Its layers."""
        return self.layered or _equal_layers(self)

    @property
    def index_bits(self) -> int:
        """Bits of an element of an indexer's keys."""
        return self.kv_bits if self.index_width is None else self.index_width

    @property
    def kv_bits(self) -> int:
        """Bits of an element of the KV cache."""
        return int(8 * self.dtype_bytes)

    @property
    def parameters(self) -> int:
        """Attention and feed-forward weights of all layers, without embeddings and norms."""
        return sum(p.elements for p in self.geometry.layer_parts() if p.multiplied)

    @property
    def parameters_total(self) -> int:
        """All weights of the text model: layers, embeddings, norms and biases."""
        return sum(p.elements for p in self.geometry.parts())

    @property
    def parameters_active(self) -> int:
        """Weights that one token uses: all of a dense model.

        With experts: the active ones and everything else but the input embedding, of which a token
        uses one row.
        """
        parts = tuple(self.geometry.parts())
        if not any(p.name == "experts" for p in parts):
            return self.parameters_total
        return sum(p.active for p in parts)

    @property
    def linear(self) -> int:
        """``a`` of ``prefill(n) = a n + b n^2 + rest(n)``, FLOPs per token."""
        return _coefficients(self)[0]

    @property
    def quadratic(self) -> int:
        """``b`` of ``prefill(n) = a n + b n^2 + rest(n)``, FLOPs per token squared."""
        return _coefficients(self)[1]

    def prefill(self, tokens: int) -> int:
        """FLOPs of prefilling ``tokens`` tokens from nothing."""
        return self.segment(0, tokens)

    def segment(self, start: int, end: int) -> int:
        """FLOPs of prefilling tokens ``[start, end)`` while those before are cached."""
        linear, quadratic, has_rest = _coefficients(self)
        cost = linear * (end - start) + quadratic * (end * end - start * start)
        if has_rest:
            cost += self.geometry.rest(end) - self.geometry.rest(start)
        return cost

    @property
    def prefix_cache(self) -> Keeps:
        """What a prefix cache holds: ``"full"`` every token, so that any prefix can be continued.

        ``"window"``: some layers keep only their newest tokens; ``"state"``: some keep a state that
        exists only where an engine saved one.
        """
        return self.geometry.keeps


@lru_cache(maxsize=64)
def _equal_layers(model: Model) -> Geometry:
    attention = Attention(model.heads, model.kv_heads, model.head_dim, model.head_dim)
    group = LayerGroup(model.layers, attention, FeedForward(model.d_ff))
    return Geometry((group,), model.d_model, model.vocabulary, small=model.d_model)


@lru_cache(maxsize=64)
def _coefficients(model: Model) -> tuple[int, int, bool]:
    """``a`` and ``b``, and whether there is a rest."""
    geometry = model.geometry
    has_rest = any(g.mixer.rest(1 << 20) for g in geometry.groups if g.mixer)
    return geometry.per_token, geometry.per_pair, has_rest


MODELS: Mapping[str, Model] = {
    m.name: m
    for m in (
        Model(
            name="Llama-3.1-8B",
            layers=32,
            d_model=4096,
            heads=32,
            kv_heads=8,
            head_dim=128,
            d_ff=14336,
            vocabulary=128256,
        ),
        Model(
            name="Llama-3.1-70B",
            layers=80,
            d_model=8192,
            heads=64,
            kv_heads=8,
            head_dim=128,
            d_ff=28672,
            vocabulary=128256,
        ),
    )
}
"""The two models that every analysis uses; constants: Grattafiori et al. 2024, The Llama 3 Herd, table
3. `cache_worthy.sim.models.catalogue` has all shipped ones."""

DEFAULT_MODEL = MODELS["Llama-3.1-8B"]
