# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# PyTorch and transformers are an extra: they make test models and are not needed to type-check the rest.
"""Exports the PyTorch models of the test-suite: `python -m lamina.tools.models OUT_DIR [NAME ...]`.

Random seeded weights, float32, static shapes. Each model is written by both exporters of `torch.onnx`
(`NAME.dynamo.onnx`, `NAME.legacy.onnx`) with `NAME.npz` beside: inputs as `in.<name>`, PyTorch's own outputs
as `out.<name>`, so that whoever tests the models needs no PyTorch. Needs the `torch` extra.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20
EAGER: dict[str, Any] = {"attn_implementation": "eager"}  # attention as plain operators, which both exporters know


@dataclass(frozen=True)
class Exported:
    """What an exporter needs: the module, its example inputs by name, and how the outputs are called."""

    module: Any
    inputs: dict[str, Any]
    outputs: Sequence[str]


def _wrap(module: Any, call: Callable[..., Any]) -> Any:
    """A module whose forward is `call(module, *tensors)`, returning a tuple of tensors."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *args: Any) -> Any:
            return call(self.inner, *args)

    return Wrapped().eval()


def _image(classes: Callable[[Any], Any]) -> Exported:
    import torch
    import transformers

    model = classes(transformers)
    pixels = torch.randn(1, 3, 224, 224)
    return Exported(_wrap(model, lambda m, x: (m(pixel_values=x).logits,)), {"pixels": pixels}, ["logits"])


def mobilenet_v2() -> Exported:
    """MobileNetV2 1.0, 224 x 224 (Sandler et al. 2018)."""
    return _image(
        lambda t: _with_statistics(
            t.MobileNetV2ForImageClassification(t.MobileNetV2Config(tf_padding=False, num_labels=1001))
        )
    )


def resnet50() -> Exported:
    """ResNet-50, 224 x 224 (He et al. 2015)."""
    return _image(lambda t: _with_statistics(t.ResNetForImageClassification(t.ResNetConfig(num_labels=1000))))


def vit_b16() -> Exported:
    """ViT-B/16, 224 x 224 (Dosovitskiy et al. 2020)."""
    return _image(lambda t: t.ViTForImageClassification(t.ViTConfig(num_labels=1000)))


def _with_statistics(model: Any) -> Any:
    """Gives batch normalisations statistics other than 0 and 1, so that a mistake in them shows."""
    import torch

    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.weight, 0.8, 1.2)
            torch.nn.init.uniform_(layer.bias, -0.1, 0.1)
            assert layer.running_mean is not None and layer.running_var is not None
            torch.nn.init.uniform_(layer.running_mean, -0.1, 0.1)
            torch.nn.init.uniform_(layer.running_var, 0.8, 1.2)
    return model


def bert_base() -> Exported:
    """BERT-base, 128 tokens, the last 28 of them padding."""
    import torch
    import transformers

    model = transformers.BertForSequenceClassification(transformers.BertConfig(**EAGER))
    tokens = torch.randint(0, 30000, (1, 128))
    mask = torch.ones(1, 128, dtype=torch.int64)
    mask[:, 100:] = 0
    return Exported(
        _wrap(model, lambda m, ids, mask: (m(input_ids=ids, attention_mask=mask).logits,)),
        {"input_ids": tokens, "attention_mask": mask},
        ["logits"],
    )


def _gpt2(layers: int) -> Any:
    import transformers

    return transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=layers, **EAGER))


def _all(tokens: Any, length: int | None = None) -> Any:
    """A mask that hides nothing. Without it, transformers looks for packed sequences with aten::diff."""
    import torch

    return torch.ones(tokens.shape[0], length or tokens.shape[1], dtype=torch.int64, device=tokens.device)


def _cached(model: Any, tokens: Any, past: Sequence[Any]) -> tuple[Any, ...]:
    """Logits, then key and value of each layer, after `tokens` with the cache `past` (k0, v0, k1, ...)."""
    import transformers

    cache = transformers.DynamicCache()
    for layer in range(len(past) // 2):
        cache.update(past[2 * layer], past[2 * layer + 1], layer)
    length = tokens.shape[1] + (past[0].shape[2] if past else 0)
    result = model(input_ids=tokens, attention_mask=_all(tokens, length), past_key_values=cache, use_cache=True)
    pairs = ((layer.keys, layer.values) for layer in result.past_key_values.layers)
    return (result.logits, *(tensor for pair in pairs for tensor in pair))


def _cache_names(prefix: str, layers: int) -> list[str]:
    return [f"{prefix}_{kind}_{i}" for i in range(layers) for kind in ("key", "value")]


def gpt2_prefill(layers: int = 12) -> Exported:
    """GPT-2 small over a prompt of 64 tokens; gives logits and the key/value cache."""
    import torch

    return Exported(
        _wrap(_gpt2(layers), lambda m, ids: _cached(m, ids, ())),
        {"input_ids": torch.randint(0, 50000, (1, 64))},
        ["logits", *_cache_names("present", layers)],
    )


def gpt2_decode(layers: int = 12) -> Exported:
    """GPT-2 small, one token after 64 cached ones; the cache is input and output."""
    import torch

    past = {name: torch.randn(1, 12, 64, 64) for name in _cache_names("past", layers)}
    return Exported(
        _wrap(_gpt2(layers), lambda m, ids, *past: _cached(m, ids, past)),
        {"input_ids": torch.randint(0, 50000, (1, 1)), **past},
        ["logits", *_cache_names("present", layers)],
    )


def llama_small() -> Exported:
    """A Llama of 4 layers, width 512, 8 heads over 4 key/value heads, 64 tokens."""
    import torch
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=8000,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=256,
        **EAGER,
    )
    model = transformers.LlamaForCausalLM(config)
    return Exported(
        _wrap(model, lambda m, ids: (m(input_ids=ids, attention_mask=_all(ids), use_cache=False).logits,)),
        {"input_ids": torch.randint(0, 8000, (1, 64))},
        ["logits"],
    )


MODELS: dict[str, Callable[[], Exported]] = {
    "mobilenet_v2": mobilenet_v2,
    "resnet50": resnet50,
    "llama_small": llama_small,
    "gpt2_2layers": lambda: gpt2_prefill(2),
    "bert_base": bert_base,
    "gpt2_prefill": gpt2_prefill,
    "gpt2_decode": gpt2_decode,
    "vit_b16": vit_b16,
}
EXPORTERS = ("legacy", "dynamo")


def export(name: str, folder: Path, exporters: Sequence[str] = EXPORTERS) -> None:
    """Writes model `name` into `folder`, once per exporter, and its inputs and outputs."""
    import torch

    torch.manual_seed(SEED)
    model = MODELS[name]()
    arguments = tuple(model.inputs.values())
    with torch.no_grad():
        expected = model.module(*arguments)
        arrays = {f"in.{key}": value.numpy() for key, value in model.inputs.items()}
        arrays |= {f"out.{key}": value.numpy() for key, value in zip(model.outputs, expected, strict=True)}
        np.savez(folder / f"{name}.npz", **arrays)
        for exporter in exporters:
            start = time.perf_counter()
            path = folder / f"{name}.{exporter}.onnx"
            options: dict[str, Any] = (
                {"dynamo": True, "opset_version": 20, "external_data": False, "verbose": False}
                if exporter == "dynamo"
                else {"dynamo": False, "opset_version": 17}
            )
            torch.onnx.export(
                model.module,
                arguments,
                str(path),
                input_names=list(model.inputs),
                output_names=list(model.outputs),
                **options,
            )
            seconds = time.perf_counter() - start
            print(f"{path} ({path.stat().st_size / 1e6:.0f} MB, {seconds:.1f} s)", flush=True)


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="lamina.tools.models", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help=f"default: all of {', '.join(MODELS)}")
    parser.add_argument("--exporter", choices=EXPORTERS, action="append")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in MODELS]
    if unknown:
        print(f"lamina.tools.models: error: unknown models {', '.join(unknown)}", file=sys.stderr)
        return 2
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or MODELS:
        export(name, args.folder, args.exporter or EXPORTERS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
