"""Configurations of transformers with heads of keys and values, dense or with experts.

One reader for all; what a ``model_type`` does differently is a row of `TRAITS`, from the model's
implementation in Hugging Face Transformers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import Fields, checked, shown
from cache_worthy.sim.models.geometry import FeedForward, Geometry, LayerGroup, groups_of
from cache_worthy.sim.models.layers import Attention


@dataclass(frozen=True, slots=True)
class Traits:
    """What the configuration of a model type does not say.

    Attributes
    ----------
    norms : int
        Vectors as wide as the model, per layer.
    qk_norm : {"", "head", "full"}
        Norms of queries and keys: per head the same, or over all heads.
    qk_norm_flag : str
        Field that turns them on; "" for always.
    bias : {"", "qkv", "flag", "flag_qkv", "all"}
        Biases of attention; with ``flag`` where ``attention_bias`` is true.
    tied : bool
        Whether the head is the embedding unless ``tie_word_embeddings`` says otherwise.
    pattern : int
        Without ``layer_types``, every ``pattern``-th layer sees all tokens; 0 if none has a window.
    everywhere : bool
        Whether a window holds for every layer.
    experts : bool
        Whether the feed-forward networks are mixtures.
    router_bias : bool
        Whether the router corrects its scores by a vector.
    expert_bias : bool
        Whether experts and router have biases.
    sinks : bool
        Whether each head has a learned sink.
    """

    norms: int = 2
    qk_norm: Literal["", "head", "full"] = ""
    qk_norm_flag: str = ""
    bias: Literal["", "qkv", "flag", "flag_qkv", "all"] = ""
    tied: bool = False
    pattern: int = 0
    everywhere: bool = False
    experts: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    sinks: bool = False


TRAITS: Mapping[str, Traits] = {
    "cohere": Traits(norms=1, qk_norm="full", qk_norm_flag="use_qk_norm", bias="flag", tied=True),
    "cohere2": Traits(norms=1, bias="flag", tied=True, pattern=4),
    "cohere2_moe": Traits(norms=1, bias="flag", tied=True, pattern=4, experts=True),
    "gemma": Traits(bias="flag", tied=True),
    "gemma2": Traits(norms=4, bias="flag", tied=True, pattern=2),
    "gemma3_text": Traits(norms=4, qk_norm="head", bias="flag", tied=True, pattern=6),
    "glm4": Traits(norms=4, bias="flag_qkv"),
    "glm4_moe": Traits(
        qk_norm="head", qk_norm_flag="use_qk_norm", bias="flag_qkv", experts=True, router_bias=True
    ),
    "gpt_oss": Traits(bias="all", pattern=2, experts=True, expert_bias=True, sinks=True),
    "granite": Traits(bias="flag"),
    "granitemoe": Traits(bias="flag", experts=True),
    "llama": Traits(bias="flag"),
    "minimax_m2": Traits(
        qk_norm="full", qk_norm_flag="use_qk_norm", experts=True, router_bias=True
    ),
    "mistral": Traits(everywhere=True),
    "ministral3": Traits(everywhere=True),
    "mixtral": Traits(everywhere=True, experts=True),
    "olmo2": Traits(qk_norm="full", bias="flag"),
    "olmo3": Traits(qk_norm="full", bias="flag"),
    "olmoe": Traits(qk_norm="full", bias="flag", experts=True),
    "phi3": Traits(everywhere=True),
    "qwen2": Traits(bias="qkv"),
    "qwen2_moe": Traits(bias="qkv", experts=True),
    "qwen3": Traits(qk_norm="head", bias="flag"),
    "qwen3_moe": Traits(qk_norm="head", bias="flag", experts=True),
    "seed_oss": Traits(bias="flag_qkv"),
    "smollm3": Traits(bias="flag", tied=True),
}


def head_shape(fields: Fields, prefix: str = "") -> tuple[int, int, int]:
    """Query heads, KV heads, and the width of a head; ``prefix`` as in ``swa_head_dim``."""
    heads = fields.integer(f"{prefix}num_attention_heads")
    kv_heads = fields.integer(f"{prefix}num_key_value_heads", heads)
    if heads % kv_heads:
        raise InputError(
            f"{prefix}num_key_value_heads: expected a divisor of {prefix}num_attention_heads = "
            f"{heads}, got {kv_heads}"
        )
    width = fields.optional(f"{prefix}head_dim")
    if width is None:
        d_model = fields.integer("hidden_size")
        if d_model % heads:
            raise InputError(
                f"{prefix}head_dim: missing, and hidden_size = {d_model} is no multiple of "
                f"{prefix}num_attention_heads = {heads}"
            )
        width = d_model // heads
    return heads, kv_heads, width


def layer_kinds(fields: Fields, known: Mapping[str, str]) -> list[str] | None:
    """``layer_types`` in this project's words, or None where absent.

    Raises
    ------
    InputError
        For a kind of layer that is not understood.
    """
    named = fields.per_layer("layer_types", fields.layers)
    if named is None:
        return None
    for kind in named:
        if not isinstance(kind, str) or kind not in known:
            raise InputError(
                f"layer_types: {shown(kind)} is not understood; known: {', '.join(known)}"
            )
    return [known[kind] for kind in named]


def reaches(fields: Fields, traits: Traits) -> list[int | None]:
    """The newest tokens that each layer sees, None for all."""
    window = fields.optional("sliding_window")
    if window is None or not fields.flag("use_sliding_window", True):
        return [None] * fields.layers
    context = fields.optional("max_position_embeddings")
    if context is not None and window >= context:
        return [None] * fields.layers  # never narrower than the prompt
    kinds = layer_kinds(fields, {"full_attention": "full", "sliding_attention": "window"})
    if kinds is not None:
        return [window if kind == "window" else None for kind in kinds]
    if "use_sliding_window" in fields:  # Qwen2: the first layers see all tokens
        first = fields.integer("max_window_layers", 0, least=0)
        return [window if i >= first else None for i in range(fields.layers)]
    if traits.everywhere:
        return [window] * fields.layers
    if not traits.pattern:
        raise InputError(
            f"sliding_window: {window}, but nothing says which layers have it; expected layer_types"
        )
    every = fields.integer("sliding_window_pattern", traits.pattern)
    return [None if (i + 1) % every == 0 else window for i in range(fields.layers)]


def sparse_layers(fields: Fields) -> list[bool]:
    """Which layers have experts."""
    layers = fields.layers
    kinds = fields.per_layer("mlp_layer_types", layers)
    if kinds is not None:
        if any(kind not in ("dense", "sparse") for kind in kinds):
            raise InputError("mlp_layer_types: expected entries dense or sparse")
        return [kind == "sparse" for kind in kinds]
    if isinstance(fields.raw("moe_layer_freq"), list):
        frequencies = fields.per_layer("moe_layer_freq", layers) or ()
        return [bool(checked("moe_layer_freq", value, 0, 1)) for value in frequencies]
    dense = fields.raw("mlp_only_layers") or []
    if not isinstance(dense, list):
        raise InputError(f"mlp_only_layers: expected a list, got {shown(dense)}")
    step = fields.integer("decoder_sparse_step", 1)
    first = fields.integer("first_k_dense_replace", 0, least=0)
    every = fields.integer("moe_layer_freq", 1)
    return [
        i >= first and i % every == 0 and (i + 1) % step == 0 and i not in dense
        for i in range(layers)
    ]


def _first(fields: Fields, *names: str) -> int:
    for name in names:
        if name in fields:
            return fields.integer(name)
    raise InputError(f"{names[0]}: missing; expected an integer ({', '.join(names)})")


def mixture(fields: Fields, *, router_bias: bool = False, expert_bias: bool = False) -> FeedForward:
    """The experts of a layer, by any of the names that configurations use."""
    experts = _first(fields, "num_experts", "num_local_experts", "n_routed_experts")
    active = _first(fields, "num_experts_per_tok", "num_experts_per_token", "top_k_experts")
    if active > experts:
        raise InputError(f"num_experts_per_tok: {active} of {experts} experts cannot be active")
    width = _first(fields, "moe_intermediate_size", "intermediate_size")
    gated = shared = fields.optional("shared_expert_intermediate_size", least=0)
    if shared is None:
        count = fields.optional("n_shared_experts", least=0)
        if count is None:
            count = fields.integer("num_shared_experts", 0, least=0)
        shared = fields.integer("shared_intermediate_size", width, least=0) * count
    d_model = fields.integer("hidden_size")
    return FeedForward(
        experts=experts,
        active=active,
        expert_width=width,
        shared_width=shared,
        shared_gate=bool(gated),
        small=experts if router_bias or expert_bias else 0,
        expert_small=2 * width + d_model if expert_bias else 0,
    )


def attention_small(fields: Fields, traits: Traits) -> int:
    """Biases, norms and sinks of an attention layer."""
    heads, kv_heads, width = head_shape(fields)
    bias = traits.bias
    if bias.startswith("flag"):
        bias = ("qkv" if bias == "flag_qkv" else "all") if fields.flag("attention_bias") else ""
    small = (heads + 2 * kv_heads) * width if bias else 0
    if bias == "all":
        small += fields.integer("hidden_size")
    if traits.qk_norm and (not traits.qk_norm_flag or fields.flag(traits.qk_norm_flag)):
        small += 2 * width if traits.qk_norm == "head" else (heads + kv_heads) * width
    return small + (heads if traits.sinks else 0)


def feed_forwards(fields: Fields, traits: Traits) -> Iterator[FeedForward]:
    """That of each layer."""
    if not traits.experts:
        width = fields.integer("intermediate_size")
        small = 2 * width + fields.integer("hidden_size") if fields.flag("mlp_bias") else 0
        yield from [FeedForward(width, small=small)] * fields.layers
        return
    sparse = mixture(fields, router_bias=traits.router_bias, expert_bias=traits.expert_bias)
    dense = fields.optional("prefix_dense_intermediate_size") or fields.optional(
        "intermediate_size"
    )
    for is_sparse in sparse_layers(fields):
        if not is_sparse and dense is None:
            raise InputError("intermediate_size: missing; some layers have no experts")
        yield sparse if is_sparse else FeedForward(dense or 0)


def outside(fields: Fields, groups: tuple[LayerGroup, ...], *, tied: bool) -> Geometry:
    """The layers with an embedding, a head and a final norm around them."""
    d_model = fields.integer("hidden_size")
    return Geometry(
        groups,
        d_model,
        fields.integer("vocab_size"),
        tied=fields.flag("tie_word_embeddings", tied),
        small=d_model,
        context=fields.optional("max_position_embeddings"),
    )


def read_plain(fields: Fields, traits: Traits) -> Geometry:
    """The geometry of a configuration whose type is a row of `TRAITS`."""
    kinds = fields.raw("attn_type_list")
    if isinstance(kinds, list) and any(kind != 1 for kind in kinds):
        raise InputError("attn_type_list: a kind of attention other than 1 is not understood")
    heads, kv_heads, width = head_shape(fields)
    small = attention_small(fields, traits)
    layers = zip(reaches(fields, traits), feed_forwards(fields, traits), strict=True)
    groups = groups_of(
        LayerGroup(
            1,
            Attention(heads, kv_heads, width, width, reach=reach, small=small),
            feed_forward,
            norms=traits.norms,
        )
        for reach, feed_forward in layers
    )
    return outside(fields, groups, tied=traits.tied)
