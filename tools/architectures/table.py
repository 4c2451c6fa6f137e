"""The architectures: name -> class, configuration and example inputs, all small. Needs the extra `torch` to be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..pytorch.tensors import torch_module

SEED = 20
WORDS = 99

Inputs = Callable[[Any, "Size"], dict[str, Any]]


@dataclass(frozen=True)
class Size:
    """How large the inputs are, and what the configurations of the table become: `options(name, given)`."""

    words: int = WORDS
    length: int = 9
    decoded: int = 5
    batch: int = 2
    image: Callable[[int], int] = lambda given: given
    samples: int = 800
    features: tuple[int, int] = (8, 40)
    options: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] = lambda name, given: given


TEST = Size()


@dataclass(frozen=True)
class Architecture:
    """One architecture: `model` of `transformers`, made from `config` with `options`, called on `inputs`.

    `output` names what is compared; several are joined by commas.
    """

    model: str
    config: str
    options: Mapping[str, Any]
    inputs: Inputs
    output: str = "last_hidden_state"
    call: Mapping[str, Any] = field(default_factory=dict[str, Any])  # further arguments, no tensors
    limit: float = 1e-3  # of `compare`

    def build(self, size: Size = TEST) -> tuple[Any, dict[str, Any]]:
        """The module, in evaluation mode, and its inputs by name; the same at every call."""
        torch = torch_module()
        transformers = __import__("transformers")
        torch.manual_seed(SEED)
        config = getattr(transformers, self.config)(**size.options(self.config, self.options))
        model = getattr(transformers, self.model)(config).eval()
        for name, buffer in model.named_buffers():  # statistics as after training, so that they count
            if name.endswith("running_mean"):
                buffer.copy_(torch.randn_like(buffer) * 0.1)
            elif name.endswith("running_var"):
                buffer.copy_(torch.rand_like(buffer) + 0.5)
        inputs = self.inputs(torch, size)
        return _wrapped(model, list(inputs), self.output.split(","), dict(self.call)), inputs


def _wrapped(model: Any, names: list[str], outputs: list[str], extra: dict[str, Any]) -> Any:
    """A module that takes tensors by position and gives tensors."""
    base: Any = torch_module().nn.Module

    class Wrapped(base):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, *args: Any) -> tuple[Any, ...]:
            found = self.inner(**dict(zip(names, args, strict=True)), **extra)
            return tuple(getattr(found, name) for name in outputs)

    return Wrapped().eval()


def _tokens(torch: Any, size: Size) -> dict[str, Any]:
    found = _causal(torch, size)
    found["attention_mask"][-1, -3:] = 0
    return found


def _causal(torch: Any, size: Size) -> dict[str, Any]:
    shape = (size.batch, size.length)
    return {"input_ids": torch.randint(3, size.words, shape), "attention_mask": torch.ones(shape, dtype=torch.int64)}


def _pair(torch: Any, size: Size) -> dict[str, Any]:
    decoded = torch.randint(3, size.words, (size.batch, size.decoded))
    return _tokens(torch, size) | {"decoder_input_ids": decoded}


def _image(pixels: int) -> Inputs:
    return lambda torch, size: {"pixel_values": torch.randn(size.batch, 3, *[size.image(pixels)] * 2)}


def _image_and_text(torch: Any, size: Size) -> dict[str, Any]:
    return {**_tokens(torch, size), **_image(30)(torch, size)}


def _features(torch: Any, size: Size) -> dict[str, Any]:
    features = torch.randn(1, *size.features)
    return {"input_features": features, "decoder_input_ids": torch.randint(3, size.words, (1, size.decoded))}


def _sound(torch: Any, size: Size) -> dict[str, Any]:
    return {"input_values": torch.randn(size.batch, size.samples)}


ENCODER = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "max_position_embeddings": 64,
}
DECODER = ENCODER | {"use_cache": False}
GROUPED = DECODER | {"num_key_value_heads": 2}
VISION = {k: v for k, v in ENCODER.items() if k not in ("vocab_size", "max_position_embeddings")}
PATCHES = VISION | {"image_size": 30, "patch_size": 6}
SEQUENCES = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "max_position_embeddings": 64,
    "use_cache": False,
}
SPEECH = VISION | {
    "vocab_size": WORDS,
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "mask_time_prob": 0.0,
}
LOGITS = "logits"

ARCHITECTURES: dict[str, Architecture] = {
    # encoders of text
    "BERT": Architecture("BertModel", "BertConfig", ENCODER, _tokens, "last_hidden_state,pooler_output"),
    "RoBERTa": Architecture("RobertaModel", "RobertaConfig", ENCODER, _tokens),
    "DistilBERT": Architecture(
        "DistilBertModel",
        "DistilBertConfig",
        {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37, "max_position_embeddings": 64},
        _tokens,
    ),
    "ALBERT": Architecture("AlbertModel", "AlbertConfig", ENCODER | {"embedding_size": 16}, _tokens),
    "ELECTRA": Architecture("ElectraModel", "ElectraConfig", ENCODER | {"embedding_size": 16}, _tokens),
    "MPNet": Architecture("MPNetModel", "MPNetConfig", ENCODER, _tokens),
    "DeBERTa-v2": Architecture(
        "DebertaV2Model",
        "DebertaV2Config",
        ENCODER | {"relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"]},
        _tokens,
    ),
    "ModernBERT": Architecture(
        "ModernBertModel",
        "ModernBertConfig",
        ENCODER | {"local_attention": 6, "pad_token_id": 0, "global_attn_every_n_layers": 2},
        _tokens,
    ),
    # decoders of text
    "GPT-2": Architecture(
        "GPT2LMHeadModel",
        "GPT2Config",
        {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "use_cache": False},
        _causal,
        LOGITS,
    ),
    "GPT-NeoX": Architecture("GPTNeoXForCausalLM", "GPTNeoXConfig", DECODER, _causal, LOGITS),
    "OPT": Architecture(
        "OPTForCausalLM", "OPTConfig", DECODER | {"ffn_dim": 37, "word_embed_proj_dim": 32}, _causal, LOGITS
    ),
    "BLOOM": Architecture(
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False},
        _causal,
        LOGITS,
    ),
    "Llama": Architecture("LlamaForCausalLM", "LlamaConfig", GROUPED, _causal, LOGITS),
    "Mistral": Architecture("MistralForCausalLM", "MistralConfig", GROUPED | {"sliding_window": 4}, _causal, LOGITS),
    "Mixtral": Architecture(
        "MixtralForCausalLM",
        "MixtralConfig",
        GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": "batched_mm"},
        _causal,
        LOGITS,
    ),
    "Qwen2": Architecture("Qwen2ForCausalLM", "Qwen2Config", GROUPED, _causal, LOGITS),
    "Qwen3": Architecture("Qwen3ForCausalLM", "Qwen3Config", GROUPED | {"head_dim": 8}, _causal, LOGITS),
    "Gemma": Architecture("GemmaForCausalLM", "GemmaConfig", GROUPED | {"head_dim": 8}, _causal, LOGITS),
    "Gemma 2": Architecture(
        "Gemma2ForCausalLM", "Gemma2Config", GROUPED | {"head_dim": 8, "sliding_window": 4}, _causal, LOGITS
    ),
    "Phi": Architecture("PhiForCausalLM", "PhiConfig", DECODER, _causal, LOGITS),
    "Phi-3": Architecture("Phi3ForCausalLM", "Phi3Config", GROUPED | {"pad_token_id": 0}, _causal, LOGITS),
    "Falcon": Architecture("FalconForCausalLM", "FalconConfig", DECODER, _causal, LOGITS),
    "StableLM": Architecture("StableLmForCausalLM", "StableLmConfig", GROUPED, _causal, LOGITS),
    "Mamba": Architecture(
        "MambaForCausalLM",
        "MambaConfig",
        {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "use_cache": False},
        lambda torch, size: {"input_ids": _causal(torch, size)["input_ids"]},
        LOGITS,
    ),
    # from text to text, from sound
    "T5": Architecture(
        "T5ForConditionalGeneration",
        "T5Config",
        {
            "vocab_size": WORDS,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 37,
            "num_layers": 2,
            "num_heads": 4,
            "use_cache": False,
        },
        _pair,
        LOGITS,
    ),
    "BART": Architecture("BartForConditionalGeneration", "BartConfig", SEQUENCES, _pair, LOGITS),
    "Marian": Architecture("MarianMTModel", "MarianConfig", SEQUENCES | {"pad_token_id": 0}, _pair, LOGITS),
    "Whisper": Architecture(
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        SEQUENCES
        | {
            "num_mel_bins": 8,
            "max_source_positions": 20,
            "max_target_positions": 64,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 1,
        },
        _features,
        LOGITS,
    ),
    "Wav2Vec2": Architecture("Wav2Vec2Model", "Wav2Vec2Config", SPEECH, _sound),
    "HuBERT": Architecture("HubertModel", "HubertConfig", SPEECH, _sound),
    # images
    "ViT": Architecture("ViTModel", "ViTConfig", PATCHES, _image(30)),
    "DeiT": Architecture("DeiTModel", "DeiTConfig", PATCHES, _image(30)),
    "BEiT": Architecture("BeitModel", "BeitConfig", PATCHES | {"use_relative_position_bias": True}, _image(30)),
    "DINOv2": Architecture("Dinov2Model", "Dinov2Config", PATCHES, _image(30)),
    "Swin": Architecture(
        "SwinModel",
        "SwinConfig",
        {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4},
        _image(32),
    ),
    "ConvNeXt": Architecture(
        "ConvNextModel", "ConvNextConfig", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}, _image(64)
    ),
    "ResNet": Architecture(
        "ResNetForImageClassification",
        "ResNetConfig",
        {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]},
        _image(64),
        LOGITS,
    ),
    "RegNet": Architecture(
        "RegNetForImageClassification",
        "RegNetConfig",
        {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1], "groups_width": 8},
        _image(64),
        LOGITS,
    ),
    "MobileNetV2": Architecture(
        "MobileNetV2ForImageClassification",
        "MobileNetV2Config",
        {"depth_multiplier": 0.25, "image_size": 64},
        _image(64),
        LOGITS,
    ),
    "EfficientNet": Architecture(
        "EfficientNetForImageClassification",
        "EfficientNetConfig",
        {
            "image_size": 64,
            "width_coefficient": 0.25,
            "depth_coefficient": 0.4,
            "hidden_dim": 320,
            "num_channels": 3,
        },
        _image(64),
        LOGITS,
    ),
    "SegFormer": Architecture(
        "SegformerForSemanticSegmentation",
        "SegformerConfig",
        {
            "depths": [1, 1, 1, 1],
            "hidden_sizes": [8, 16, 24, 32],
            "num_attention_heads": [1, 2, 4, 4],
            "decoder_hidden_size": 16,
        },
        _image(64),
        LOGITS,
    ),
    "DPT": Architecture(
        "DPTForDepthEstimation",
        "DPTConfig",
        PATCHES
        | {
            "image_size": 32,
            "patch_size": 8,
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 8,
        },
        _image(32),
        "predicted_depth",
    ),
    "YOLOS": Architecture(
        "YolosForObjectDetection",
        "YolosConfig",
        PATCHES | {"image_size": [30, 30], "num_detection_tokens": 5},
        _image(30),
        "logits,pred_boxes",
    ),
    "DETR": Architecture(
        "DetrForObjectDetection",
        "DetrConfig",
        {
            "use_timm_backbone": False,
            "use_pretrained_backbone": False,
            "backbone": None,
            "backbone_config": {
                "model_type": "resnet",
                "embedding_size": 8,
                "hidden_sizes": [8, 16, 24, 32],
                "depths": [1, 1, 1, 1],
                "out_features": ["stage4"],
            },
            "num_queries": 5,
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 37,
            "decoder_ffn_dim": 37,
        },
        _image(64),
        "logits,pred_boxes",
    ),
    # images and text
    "CLIP": Architecture(
        "CLIPModel",
        "CLIPConfig",
        {
            "text_config": ENCODER | {"eos_token_id": 98, "bos_token_id": 1},
            "vision_config": PATCHES,
            "projection_dim": 16,
        },
        _image_and_text,
        "logits_per_image,text_embeds,image_embeds",
    ),
    "SigLIP": Architecture(
        "SiglipModel",
        "SiglipConfig",
        {"text_config": ENCODER, "vision_config": PATCHES},
        _image_and_text,
        "logits_per_image",
    ),
}
