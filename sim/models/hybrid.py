"""Configurations that mix attention with recurrent layers, and those with kinds of their own."""

from __future__ import annotations

from dataclasses import replace

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import Fields, checked, shown
from cache_worthy.sim.models.geometry import FeedForward, Geometry, LayerGroup, groups_of
from cache_worthy.sim.models.layers import Attention, Indexer, Mixer
from cache_worthy.sim.models.plain import head_shape, layer_kinds, mixture, outside, sparse_layers
from cache_worthy.sim.models.recurrent import Mamba, Recurrent

STATE_WIDTHS = {"float32": 32, "bfloat16": 16, "float16": 16}


def _state_width(fields: Fields, name: str) -> int:
    """Bits of an element of a recurrent state; 32 unless said."""
    given = fields.text(name)
    if given is None:
        return 32
    if given not in STATE_WIDTHS:
        raise InputError(f"{name}: expected one of {', '.join(STATE_WIDTHS)}, got {shown(given)}")
    return STATE_WIDTHS[given]


def read_gated_delta(fields: Fields) -> Geometry:
    """Qwen3-Next and Qwen3.5 to 3.8: gated delta networks, with gated attention in some layers."""
    heads, kv_heads, width = head_shape(fields)
    attention = Attention(heads, kv_heads, width, width, gated=True, small=2 * width)
    delta = Recurrent(
        fields.integer("linear_num_key_heads"),
        fields.integer("linear_key_head_dim"),
        fields.integer("linear_num_value_heads"),
        value_dim=fields.integer("linear_value_head_dim"),
        kernel=fields.integer("linear_conv_kernel_dim"),
        state_width=_state_width(fields, "mamba_ssm_dtype"),
    )
    kinds = layer_kinds(fields, {"full_attention": "full", "linear_attention": "linear"})
    if kinds is None:
        every = fields.integer("full_attention_interval", 4)
        kinds = ["linear" if (i + 1) % every else "full" for i in range(fields.layers)]
    moe = "num_experts" in fields
    feed_forward = mixture(fields) if moe else FeedForward(fields.integer("intermediate_size"))
    groups = groups_of(
        LayerGroup(1, attention if kind == "full" else delta, feed_forward) for kind in kinds
    )
    return outside(fields, groups, tied=False)


def read_nemotron_h(fields: Fields) -> Geometry:
    """Nemotron-H and Nemotron Nano: each layer is one of Mamba-2, attention, dense or experts."""
    pattern = fields.text("hybrid_override_pattern")
    if pattern is None or len(pattern) != fields.layers or set(pattern) - set("M*-E"):
        raise InputError(
            f"hybrid_override_pattern: expected {fields.layers} of the letters M * - E, got "
            f"{shown(pattern)}"
        )
    heads, kv_heads, width = head_shape(fields)
    mamba = Mamba(
        fields.integer("mamba_num_heads"),
        fields.integer("mamba_head_dim"),
        fields.integer("n_groups"),
        state=fields.integer("ssm_state_size"),
        kernel=fields.integer("conv_kernel"),
        state_width=_state_width(fields, "mamba_ssm_cache_dtype"),
    )
    layer = {
        "M": LayerGroup(1, mamba, None, norms=1),
        "*": LayerGroup(1, Attention(heads, kv_heads, width, width), None, norms=1),
    }
    if "-" in pattern:
        dense = FeedForward(fields.integer("intermediate_size"), matrices=2)
        layer["-"] = LayerGroup(1, None, dense, norms=1)
    if "E" in pattern:
        experts = FeedForward(
            matrices=2,
            experts=fields.integer("n_routed_experts"),
            active=fields.integer("num_experts_per_tok"),
            expert_width=fields.integer("moe_intermediate_size"),
            shared_width=fields.integer("moe_shared_expert_intermediate_size", 0, least=0),
            small=fields.integer("n_routed_experts"),
        )
        layer["E"] = LayerGroup(1, None, experts, norms=1)
    return outside(fields, groups_of(layer[letter] for letter in pattern), tied=False)


def read_llama4(fields: Fields) -> Geometry:
    """Llama 4: three layers in four attend within chunks; experts in every layer or every second."""
    heads, kv_heads, width = head_shape(fields)
    kinds = layer_kinds(fields, {"full_attention": "full", "chunked_attention": "chunk"})
    if kinds is None:
        every = fields.integer("no_rope_layer_interval", 4)
        kinds = ["chunk" if (i + 1) % every else "full" for i in range(fields.layers)]
    chunk = fields.integer("attention_chunk_size")
    step = fields.integer("interleave_moe_layer_step")
    inner = fields.integer("intermediate_size")
    experts = FeedForward(
        experts=fields.integer("num_local_experts"),
        active=fields.integer("num_experts_per_tok"),
        expert_width=inner,
        shared_width=inner,
    )
    dense = FeedForward(fields.integer("intermediate_size_mlp"))

    def mixer(kind: str) -> Attention:
        chunked = kind == "chunk"
        reach = chunk if chunked else None
        return Attention(heads, kv_heads, width, width, reach=reach, chunked=chunked)

    groups = groups_of(
        LayerGroup(1, mixer(kind), dense if (i + 1) % step else experts)
        for i, kind in enumerate(kinds)
    )
    return outside(fields, groups, tied=False)


def read_mimo(fields: Fields) -> Geometry:
    """MiMo-V2: keys wider than values, and windowed layers with head counts of their own."""
    pattern = fields.every_layer("hybrid_layer_pattern")
    heads, kv_heads, width = head_shape(fields)
    full = Attention(heads, kv_heads, width, fields.integer("v_head_dim", width))
    heads, kv_heads, width = head_shape(fields, "swa_")
    window = Attention(
        heads,
        kv_heads,
        width,
        value_dim=fields.integer("swa_v_head_dim", width),
        reach=fields.integer("sliding_window"),
        small=heads if fields.flag("add_swa_attention_sink_bias") else 0,
    )
    sparse, dense = (
        mixture(fields, router_bias=True),
        FeedForward(fields.integer("intermediate_size")),
    )
    groups = groups_of(
        LayerGroup(
            1,
            window if checked("hybrid_layer_pattern", kind, 0, 1) else full,
            sparse if is_sparse else dense,
        )
        for kind, is_sparse in zip(pattern, sparse_layers(fields), strict=True)
    )
    return outside(fields, groups, tied=False)


def read_minimax_m3(fields: Fields) -> Geometry:
    """MiniMax M3: an indexer per layer chooses blocks of tokens."""
    sparse_fields = fields.section("sparse_attention_config")
    layers = fields.layers
    frequencies = sparse_fields.per_layer("sparse_attention_freq", layers) or [1] * layers
    block = sparse_fields.integer("sparse_block_size")
    index = Indexer(
        sparse_fields.integer("sparse_num_index_heads"),
        sparse_fields.integer("sparse_index_dim"),
        block * sparse_fields.integer("sparse_topk_blocks"),
    )
    heads, kv_heads, width = head_shape(fields)
    small = 2 * width if fields.flag("use_qk_norm") else 0
    dense = FeedForward(fields.integer("dense_intermediate_size"))
    experts = mixture(fields, router_bias=True)

    def mixer(sparse: object) -> Mixer:
        chosen = index if checked("sparse_attention_freq", sparse, 0, 1) else None
        return Attention(heads, kv_heads, width, width, small=small, index=chosen)

    groups = groups_of(
        LayerGroup(1, mixer(sparse), experts if is_sparse else dense)
        for sparse, is_sparse in zip(frequencies, sparse_layers(fields), strict=True)
    )
    return outside(fields, groups, tied=False)


def read_inkling(fields: Fields) -> Geometry:
    """Inkling: short convolutions in every layer, relative positions, windows in five of six."""
    d_model, kernel = fields.integer("hidden_size"), fields.integer("sconv_kernel_size")
    relative = fields.integer("d_rel")
    local = fields.integers("local_layer_ids")

    def mixer(prefix: str, reach: int | None, extent: int) -> Attention:
        heads, kv_heads, width = head_shape(fields, prefix)
        channels = 2 * kv_heads * width + 2 * d_model
        return Attention(
            heads,
            kv_heads,
            width,
            value_dim=width,
            reach=reach,
            relative=relative,
            small=2 * width + relative * extent + kernel * channels,
            convolution=(kernel - 1) * channels,
        )

    window = fields.integer("sliding_window_size")
    near = mixer("swa_", window, window)
    far = mixer("", None, fields.integer("rel_extent"))
    dense_first = fields.integer("dense_mlp_idx", 0, least=0)
    dense = FeedForward(fields.integer("dense_intermediate_size"))
    experts = mixture(fields, router_bias=True)
    groups = groups_of(
        LayerGroup(1, near if i in local else far, dense if i < dense_first else experts)
        for i in range(fields.layers)
    )
    return outside(fields, groups, tied=False)


def read_gemma4(fields: Fields) -> Geometry:
    """Gemma 4: windows, shared keys and values, and embeddings for every layer."""
    heads, kv_heads, width = head_shape(fields)
    one = fields.flag("attention_k_eq_v")
    far_heads = fields.integer("num_global_key_value_heads", kv_heads) if one else kv_heads
    far_width = fields.integer("global_head_dim", width)
    reach = fields.integer("sliding_window")
    fields.every_layer("layer_types")
    kinds = layer_kinds(fields, {"full_attention": "full", "sliding_attention": "window"}) or []
    inner = fields.integer("intermediate_size")
    d_model, layers = fields.integer("hidden_size"), fields.layers
    per_layer = fields.integer("hidden_size_per_layer_input", 0, least=0)
    moe = mixture(fields) if fields.flag("enable_moe_block") else FeedForward()
    shared = fields.integer("num_kv_shared_layers", 0, least=0)
    if shared >= layers:
        raise InputError(f"num_kv_shared_layers: expected fewer than {layers}, got {shared}")

    def layer(i: int, kind: str) -> LayerGroup:
        own = i < layers - shared  # the others read an earlier layer's keys and values
        small = (2 if own else 1) * (far_width if kind == "full" else width)
        near = Attention(heads, kv_heads, width, width, reach=reach, stores=own, small=small)
        far = Attention(
            heads, far_heads, far_width, far_width, stores=own, one_projection=one, small=small
        )
        mixer = far if kind == "full" else near
        wide = fields.flag("use_double_wide_mlp") and not own
        feed_forward = replace(
            moe, width=inner * (2 if wide else 1), small=moe.experts + d_model if moe.experts else 0
        )
        norms = (7 if moe.experts else 4) + bool(per_layer)
        return LayerGroup(
            1, mixer, feed_forward, norms=norms, small=1, streams=2 * d_model * per_layer
        )

    geometry = outside(fields, groups_of(layer(i, kind) for i, kind in enumerate(kinds)), tied=True)
    table = fields.integer("vocab_size_per_layer_input", geometry.vocabulary)
    return replace(
        geometry,
        small=d_model + per_layer,
        lookups=table * layers * per_layer,
        projections=d_model * layers * per_layer,
    )
