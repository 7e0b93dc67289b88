"""Configurations with multi-head latent attention, and those built on its parts."""

from __future__ import annotations

from dataclasses import replace

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.fields import Fields, checked
from cache_worthy.sim.models.geometry import FeedForward, Geometry, LayerGroup, groups_of
from cache_worthy.sim.models.layers import Compressed, Indexer, Latent
from cache_worthy.sim.models.plain import mixture, outside, sparse_layers
from cache_worthy.sim.models.recurrent import Recurrent


def latent_of(fields: Fields, *, gated: bool = False) -> Latent:
    """The latent attention of a layer, without an indexer."""
    return Latent(
        heads=fields.integer("num_attention_heads"),
        kv_rank=fields.integer("kv_lora_rank"),
        rope=fields.integer("qk_rope_head_dim", least=0),
        nope=fields.integer("qk_nope_head_dim"),
        value_dim=fields.integer("v_head_dim"),
        q_rank=fields.optional("q_lora_rank"),
        gated=gated,
    )


def _own_indexers(fields: Fields) -> list[bool]:
    """Which layers have an indexer of their own; the others use the choice of the last such one."""
    layers = fields.layers
    named = fields.per_layer("indexer_types", layers)
    if named is not None:
        if any(kind not in ("full", "shared") for kind in named):
            raise InputError("indexer_types: expected entries full or shared")
        return [kind == "full" for kind in named]
    every = fields.integer("index_topk_freq", 1)
    # GLM-5.2: the first layers all have one, then one layer in `every`.
    first = fields.integer("index_skip_topk_offset", 0, least=0)
    return [i < first or (i - first) % every == every - 1 for i in range(layers)]


def read_latent(fields: Fields) -> Geometry:
    """DeepSeek V2, V3, V3.2, Kimi K2, GLM-5 and what has their model types."""
    plain = latent_of(fields)
    router_bias = fields.text("topk_method") == "noaux_tc" or "index_topk" in fields
    mixers = [plain] * fields.layers
    if "index_topk" in fields:
        most = fields.integer("index_topk")
        index = Indexer(fields.integer("index_n_heads"), fields.integer("index_head_dim"), most)
        mixers = [
            replace(plain, index=index if own else None, most=most) for own in _own_indexers(fields)
        ]
    sparse, has_experts = mixture(fields, router_bias=router_bias), sparse_layers(fields)
    dense = None if all(has_experts) else FeedForward(fields.integer("intermediate_size"))
    groups = groups_of(
        LayerGroup(1, mixer, sparse if is_sparse else dense)
        for mixer, is_sparse in zip(mixers, has_experts, strict=True)
    )
    return outside(fields, groups, tied=False)


def read_kimi_linear(fields: Fields) -> Geometry:
    """Kimi Linear and Kimi K3: delta attention, with latent attention in some layers."""
    linear = fields.section("linear_attn_config")
    full = linear.integers("full_attn_layers")
    width = linear.integer("head_dim")
    heads = linear.integer("num_heads")
    kernel = linear.integer("short_conv_kernel_size")
    gate_rank = None if linear.flag("use_full_rank_gate") else width
    delta = Recurrent(heads, width, heads, width, kernel, gate_rank, channel_decay=True)
    latent = latent_of(fields, gated=fields.flag("mla_use_output_gate"))
    inner = fields.optional("routed_expert_hidden_size")
    sparse = replace(mixture(fields, router_bias=True), expert_dim=inner)
    dense = FeedForward(fields.integer("intermediate_size"))
    # Residual attention over blocks of layers: a norm and a vector before each half of a layer.
    norms = 6 if "attn_res_block_size" in fields else 2
    groups = groups_of(
        LayerGroup(1, latent if i + 1 in full else delta, sparse if s else dense, norms=norms)
        for i, s in enumerate(sparse_layers(fields))
    )
    return outside(fields, groups, tied=False)


def read_deepseek_v4(fields: Fields) -> Geometry:
    """DeepSeek V4: the newest tokens and summaries, in several residual streams."""
    d_model, streams = fields.integer("hidden_size"), fields.integer("hc_mult")
    ratios = fields.every_layer("compress_ratios")
    heads, index_dim = fields.integer("index_n_heads"), fields.integer("index_head_dim")
    index = Indexer(heads, index_dim, fields.integer("index_topk"))
    mixed = streams * (streams + 2)
    sparse = mixture(fields, router_bias=True)

    def layer(ratio: object) -> LayerGroup:
        ratio = checked("compress_ratios", ratio, 0)
        mixer = Compressed(
            fields.integer("num_attention_heads"),
            fields.integer("head_dim"),
            q_rank=fields.integer("q_lora_rank"),
            o_rank=fields.integer("o_lora_rank"),
            o_groups=fields.integer("o_groups"),
            window=fields.integer("sliding_window"),
            ratio=ratio,
            index=index if ratio == 4 else None,
        )
        small = 2 * (mixed + 3)
        return LayerGroup(1, mixer, sparse, small=small, streams=2 * mixed * streams * d_model)

    return outside(fields, groups_of(layer(ratio) for ratio in ratios), tied=False)
