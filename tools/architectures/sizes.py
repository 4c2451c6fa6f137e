"""A size at which time goes into arithmetic and not into calls: the table's configurations, wider and deeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .table import TEST, Size

WIDTH, INNER, LAYERS, HEADS, HEAD = 256, 1024, 3, 4, 64
WORDS, POSITIONS, TOKENS = 1000, 256, 64
PIXELS, PATCH = 128, 16
SAMPLES = 4000
FRAMES = (80, 128)

# what an option becomes, wherever the configuration has it
WIDER: Mapping[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "word_embed_proj_dim"), WIDTH),
    **dict.fromkeys(
        ("intermediate_size", "hidden_dim", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), INNER
    ),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "num_layers"), LAYERS),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("head_dim", "d_kv"), HEAD),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), POSITIONS),
    "vocab_size": WORDS,
    "image_size": PIXELS,
    "patch_size": PATCH,
}

SPEECH: Mapping[str, Any] = {"conv_dim": (128, 128, 128), "num_conv_pos_embedding_groups": 16}

# what a configuration says otherwise
OTHERWISE: Mapping[str, Mapping[str, Any]] = {
    "AlbertConfig": {"embedding_size": 128},
    "ElectraConfig": {"embedding_size": 128},
    "ModernBertConfig": {"local_attention": 32},
    "MistralConfig": {"sliding_window": 32},
    "Gemma2Config": {"sliding_window": 32},
    "MambaConfig": {"state_size": 16},
    "WhisperConfig": {"num_mel_bins": FRAMES[0], "max_source_positions": FRAMES[1] // 2},
    "Wav2Vec2Config": SPEECH,
    "HubertConfig": SPEECH,
    "SwinConfig": {"patch_size": 4, "embed_dim": 96, "depths": [2, 2], "num_heads": [3, 6], "window_size": 8},
    "ConvNextConfig": {"hidden_sizes": [48, 96, 192, 384], "depths": [1, 1, 3, 1]},
    "ResNetConfig": {"embedding_size": 64, "hidden_sizes": [64, 128, 256, 512]},
    "RegNetConfig": {"embedding_size": 32, "hidden_sizes": [64, 128, 256, 512], "groups_width": 16},
    "MobileNetV2Config": {"depth_multiplier": 0.75},
    "EfficientNetConfig": {"width_coefficient": 0.75, "depth_coefficient": 0.8, "hidden_dim": 960},
    "SegformerConfig": {
        "hidden_sizes": [32, 64, 160, 256],
        "num_attention_heads": [1, 2, 5, 8],
        "decoder_hidden_size": 256,
    },
    "DPTConfig": {"num_hidden_layers": 4, "neck_hidden_sizes": [48, 96, 192, 256], "fusion_hidden_size": 128},
    "YolosConfig": {"image_size": [PIXELS, PIXELS], "num_detection_tokens": 50},
    "DetrConfig": {"num_queries": 50},
}
BACKBONE: Mapping[str, Any] = {"embedding_size": 64, "hidden_sizes": [64, 128, 256, 512]}


def _options(name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    wider = {key: _wider(key, value) for key, value in given.items()}
    return wider | dict(OTHERWISE.get(name, {}))


def _wider(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        nested = {k: _wider(k, v) for k, v in cast(Mapping[str, Any], value).items()}
        return nested | dict(BACKBONE) if key == "backbone_config" else nested
    return WIDER.get(key, value)


REAL = Size(
    words=WORDS,
    length=TOKENS,
    decoded=32,
    batch=1,
    image=lambda _: PIXELS,
    samples=SAMPLES,
    features=FRAMES,
    options=_options,
)
SIZES = {"test": TEST, "real": REAL}
