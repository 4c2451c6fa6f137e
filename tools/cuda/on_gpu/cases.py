"""What is timed: programs of the benchmarks at sizes for a GPU, and networks of PyTorch.

With `most` no size is above it: so tests compile the same programs and compare them with the same peers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from ...bench import attention, conv, gemm, memory
from ...bench.cases import Workload

F32, TF32, HALF = 1e-5, 2**-9, 2**-7  # errors allowed, of the largest value; HALF is of results in bf16 and f16
SHORT = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
NETWORKS = ("resnet50", "bert_base", "gpt2_prefill", "vit_b16", "mobilenet_v2", "gpt2_decode", "llama_small")
PRECISIONS = ("f32", "bf16")
TOKENS = 65536  # of all heads of an attention together
_FAMILIES = conv.FAMILIES
RESNET50 = (*_FAMILIES["3x3"][:4], *_FAMILIES["1x1"][:9], *_FAMILIES["strided"][1:], *_FAMILIES["7x7"])
Reduced = int | None


@dataclass(frozen=True)
class Timed:
    """A program that is timed. A network has no `build`; `needs` are the seconds that it may take, with its peers."""

    group: str
    name: str
    limit: float
    build: Callable[[], Workload] | None = None
    precision: str = "f32"
    operations: float = 0
    needs: float = 5


def timed(most: Reduced = None) -> list[Timed]:
    """All of them, in the order in which they are done: one of each group after the other."""
    groups = (_gemm(most), _attention(most), _f32(most), _conv(most), _memory(most), _networks(), _skinny(most))
    return [case for turn in zip_longest(*groups) for case in turn if case is not None]


def _cut(sizes: Sequence[int], most: Reduced) -> tuple[int, ...]:
    return tuple(size if most is None else min(size, most) for size in sizes)


def _memory(most: Reduced) -> list[Timed]:
    def case(name: str, build: Callable[..., Workload], *arguments: Any) -> Timed:
        return Timed("memory", name, F32, partial(build, *arguments))

    def cut(*sizes: int) -> tuple[int, ...]:
        return _cut(sizes, most)

    rows, long_rows, square = cut(32768, 1024), cut(4096, 8192), cut(8192, 4096)
    return [
        case("max(x + y, 0) * z 8192x4096", memory.chain, square),
        case("softmax 32768x1024", memory.softmax, rows),
        case("layer norm 32768x1024", memory.layer_norm, *rows),
        case("transpose 8192x4096", memory.transpose, square, (1, 0)),
        case("sum of rows 8192x4096", memory.reduction, "sum", square, (1,)),
        case("sum of columns 8192x4096", memory.reduction, "sum", square, (0,)),
        case("softmax 4096x8192", memory.softmax, long_rows),
        case("layer norm 4096x8192", memory.layer_norm, *long_rows),
        case("rms norm 32768x1024", memory.rms_norm, *rows),
        case("max of all 8192x4096", memory.reduction, "max", square, (0, 1)),
        case("max of middles 64x1024x512", memory.reduction, "max", cut(64, 1024, 512), (1,)),
        case("heads turned 16x2048x16x128", memory.transpose, cut(16, 2048, 16, 128), (0, 2, 1, 3)),
        case("images turned 32x64x112x112", memory.transpose, cut(32, 64, 112, 112), (0, 2, 3, 1)),
        case("gelu 8192x4096", memory.gelu, square),
    ]


def _product(
    group: str, sizes: Sequence[int], dtype: str, turned: bool, most: Reduced, precision: str = "f32"
) -> Timed:
    m, n, k = sizes
    kind = precision if precision == "tf32" else SHORT[dtype]
    name = f"{m}x{n}x{k} {kind} {'nk' if turned else 'kn'}"
    limit = TF32 if precision == "tf32" else F32 if dtype == "float32" else HALF
    build = partial(gemm.product, 1, *_cut(sizes, most), constant=False, dtype=dtype, turned=turned)
    return Timed(group, name, limit, build, precision, 2.0 * m * n * k)


def _gemm(most: Reduced) -> list[Timed]:
    sizes = [(n, n, n) for n in (4096, 8192)]
    bf16 = [_product("gemm", each, "bfloat16", turned, most) for each in sizes for turned in (False, True)]
    return [
        *bf16,
        _product("gemm", sizes[0], "float16", False, most),
        _product("gemm", sizes[0], "float32", False, most, "tf32"),
    ]


def _f32(most: Reduced) -> list[Timed]:
    return [_product("f32-gemm", (4096, 4096, 4096), "float32", turned, most) for turned in (False, True)]


def _skinny(most: Reduced) -> list[Timed]:
    sizes = ((16, 4096, 4096), (1, 4096, 4096), (64, 512, 4608))
    kinds = [(each, dtype) for each in sizes for dtype in ("bfloat16", "float32")]
    return [_product("skinny", each, dtype, turned, most) for turned in (True, False) for each, dtype in kinds]


def _attention(most: Reduced) -> list[Timed]:
    found: list[Timed] = []
    for length in (2048, 4096, 1024, 512):
        for width in (64, 128):
            for mask in ("", "causal"):
                sizes = attention.Sizes(TOKENS // length, length, length, width, mask)
                heads, queries, keys = _cut((sizes.heads, length, length), most)
                cut = replace(sizes, heads=heads, queries=queries, keys=keys)
                build = partial(attention.heads, cut, "bfloat16")
                work = sizes.operations / (2 if mask else 1)  # of what is seen
                found.append(Timed("attention", f"{sizes} bf16", HALF, build, "bf16", work))
    return found


def _conv(most: Reduced) -> list[Timed]:
    def case(layer: conv.Layer, batch: int, dtype: str) -> Timed:
        channels, size, filters = _cut((layer.channels, layer.size, layer.filters), most)
        images = batch if most is None else min(batch, 2)
        cut = replace(layer, channels=channels, size=size, filters=filters)
        build = partial(conv.channels_last, cut, images, dtype)
        limit = 1e-4 if dtype == "float32" else HALF  # cuDNN may take Winograd's way, ours is compared with it
        name = f"{layer} of {batch} {SHORT[dtype]}"
        return Timed("conv", name, limit, build, operations=2.0 * batch * layer.multiply_adds)

    wide = [case(layer, 32, "bfloat16") for layer in RESNET50]
    one = [case(layer, 1, "bfloat16") for layer in RESNET50]
    f32 = [case(layer, 32, "float32") for layer in (RESNET50[0], RESNET50[2], RESNET50[5])]
    return [case for turn in zip_longest(wide, f32, one) for case in turn if case is not None]


def _networks() -> list[Timed]:
    # errors are checked as those of `torch`, with the bounds that stand there
    return [
        Timed("networks", f"{name} {kind}", 0, precision=kind, needs=30) for name in NETWORKS for kind in PRECISIONS
    ]
