"""Networks of kinds that the libraries of `networks.py` do not have, written out, with random weights. Need `torch`.

One of each: for segmentation, detection, larger and other images, what is said or read, points, series, tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..pytorch.tensors import torch_module
from .networks import finished
from .table import SEED, TEST, Size

Builder = Callable[[Any, int], tuple[Any, dict[str, Any]]]


@dataclass(frozen=True)
class Kind:
    """One network: `make` gives, of PyTorch and a number of samples, the module and inputs by name."""

    make: Builder
    limit: float = 1e-2  # of `compare`, as that of `networks.Network`

    def build(self, size: Size = TEST) -> tuple[Any, dict[str, Any]]:
        """The module, in evaluation mode, and its inputs; the same at every call."""
        torch = torch_module()
        torch.manual_seed(SEED)
        module, inputs = self.make(torch, size.batch)
        return finished(module), inputs


def _block(nn: Any, given: int, made: int, kernel: int = 3, stride: int = 1, **options: Any) -> Any:
    """A convolution, its batch normalisation and what follows that (`act`)."""
    act = options.pop("act", nn.ReLU)
    conv = nn.Conv2d(given, made, kernel, stride, kernel // 2, bias=False, **options)
    return nn.Sequential(conv, nn.BatchNorm2d(made), act())


def unet(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """Segmentation: five levels, transposed convolutions on the way up (Ronneberger and others, 2015)."""
    nn = torch.nn
    widths = [32, 64, 128, 256, 512]

    def double(given: int, made: int) -> Any:
        return nn.Sequential(_block(nn, given, made), _block(nn, made, made))

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            pairs = list(pairwise(widths))
            self.down = nn.ModuleList([double(3, widths[0]), *(double(a, b) for a, b in pairs)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed(pairs)])
            self.joined = nn.ModuleList([double(b, a) for a, b in reversed(pairs)])
            self.last = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x: Any) -> Any:
            levels = [self.down[0](x)]
            for down in self.down[1:]:
                levels.append(down(nn.functional.max_pool2d(levels[-1], 2)))
            x = levels.pop()
            for up, joined in zip(self.up, self.joined, strict=True):
                x = joined(torch.cat([levels.pop(), up(x)], 1))
            return self.last(x)

    return UNet(), {"image": torch.randn(batch, 3, 256, 256)}


def detector(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """Detection in one stage, as YOLOv8 has it: split blocks, pools of pools, a pyramid, boxes as distributions."""
    nn, silu = torch.nn, torch.nn.SiLU

    def conv(given: int, made: int, kernel: int = 3, stride: int = 1) -> Any:
        return _block(nn, given, made, kernel, stride, act=silu)

    class Split(nn.Module):
        def __init__(self, given: int, made: int, depth: int = 1) -> None:
            super().__init__()
            half = made // 2
            self.first, self.last = conv(given, made, 1), conv((2 + depth) * half, made, 1)
            self.parts = nn.ModuleList([nn.Sequential(conv(half, half), conv(half, half)) for _ in range(depth)])

        def forward(self, x: Any) -> Any:
            pieces = list(self.first(x).chunk(2, 1))
            for part in self.parts:
                pieces.append(pieces[-1] + part(pieces[-1]))
            return self.last(torch.cat(pieces, 1))

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.third = nn.Sequential(
                conv(3, 16, 3, 2), conv(16, 32, 3, 2), Split(32, 32), conv(32, 64, 3, 2), Split(64, 64, 2)
            )
            self.fourth = nn.Sequential(conv(64, 128, 3, 2), Split(128, 128, 2))
            self.fifth = nn.Sequential(conv(128, 256, 3, 2), Split(256, 256))
            self.before, self.behind = conv(256, 128, 1), conv(512, 256, 1)
            self.up = nn.ModuleList([Split(384, 128), Split(192, 64)])
            self.down = nn.ModuleList([conv(64, 64, 3, 2), conv(128, 128, 3, 2)])
            self.joined = nn.ModuleList([Split(192, 128), Split(384, 256)])
            self.heads = nn.ModuleList(
                [nn.Sequential(conv(n, 64), conv(64, 64), nn.Conv2d(64, 144, 1)) for n in (64, 128, 256)]
            )

        def forward(self, x: Any) -> Any:
            larger = nn.functional.interpolate
            third = self.third(x)
            fourth = self.fourth(third)
            pools = [self.before(self.fifth(fourth))]
            for _ in range(3):
                pools.append(nn.functional.max_pool2d(pools[-1], 5, 1, 2))
            fifth = self.behind(torch.cat(pools, 1))
            fourth = self.up[0](torch.cat([larger(fifth, scale_factor=2.0), fourth], 1))
            third = self.up[1](torch.cat([larger(fourth, scale_factor=2.0), third], 1))
            fourth = self.joined[0](torch.cat([self.down[0](third), fourth], 1))
            fifth = self.joined[1](torch.cat([self.down[1](fourth), fifth], 1))
            levels = zip(self.heads, (third, fourth, fifth), strict=True)
            boxes, classes = torch.cat([head(level).flatten(2) for head, level in levels], 2).split((64, 80), 1)
            spread = boxes.unflatten(1, (4, 16)).softmax(2)
            sides = (spread * torch.arange(16.0).view(1, 1, 16, 1)).sum(2)
            return torch.cat([sides, classes.sigmoid()], 1)

    return Detector(), {"image": torch.randn(batch, 3, 640, 640)}


def pyramid(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """Three levels joined to and fro by weights, depthwise convolutions between (EfficientDet's BiFPN)."""
    nn, width, rounds = torch.nn, 64, 3

    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.levels = nn.ModuleList([nn.Conv2d(3, width, 3, 2**k, 1) for k in (2, 3, 4)])
            self.joints = nn.ModuleList(
                [
                    nn.Sequential(
                        nn.Conv2d(width, width, 3, 1, 1, groups=width),
                        nn.Conv2d(width, width, 1),
                        nn.BatchNorm2d(width),
                        nn.SiLU(),
                    )
                    for _ in range(4 * rounds)
                ]
            )
            self.weights = nn.Parameter(torch.rand(4 * rounds, 2) + 0.5)

        def join(self, i: int, one: Any, other: Any) -> Any:
            weights = torch.relu(self.weights[i])
            return self.joints[i]((weights[0] * one + weights[1] * other) / (weights.sum() + 1e-4))

        def forward(self, x: Any) -> Any:
            larger, smaller = nn.functional.interpolate, nn.functional.max_pool2d
            fine, middle, coarse = (level(x) for level in self.levels)
            for i in range(0, 4 * rounds, 4):
                between = self.join(i, middle, larger(coarse, scale_factor=2.0))
                fine = self.join(i + 1, fine, larger(between, scale_factor=2.0))
                middle = self.join(i + 2, between, smaller(fine, 2))
                coarse = self.join(i + 3, coarse, smaller(middle, 2))
            return torch.cat([level.flatten(2) for level in (fine, middle, coarse)], 2)

    return Pyramid(), {"image": torch.randn(batch, 3, 512, 512)}


def super_resolution(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """An image three times as large, whose last channels are its points (ESPCN)."""
    nn = torch.nn
    layers = (nn.Conv2d(1, 64, 5, 1, 2), nn.Tanh(), nn.Conv2d(64, 32, 3, 1, 1), nn.Tanh(), nn.Conv2d(32, 9, 3, 1, 1))
    return nn.Sequential(*layers, nn.PixelShuffle(3)), {"image": torch.randn(batch, 1, 240, 320)}


def image_decoder(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """What makes an image of the numbers that a diffusion model ends with: group norms, SiLU, images twice as large."""
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self, given: int, made: int) -> None:
            super().__init__()
            norms = nn.GroupNorm(32, given), nn.GroupNorm(32, made)
            convs = nn.Conv2d(given, made, 3, 1, 1), nn.Conv2d(made, made, 3, 1, 1)
            self.inside = nn.Sequential(norms[0], nn.SiLU(), convs[0], norms[1], nn.SiLU(), convs[1])
            self.around = nn.Identity() if given == made else nn.Conv2d(given, made, 1)

        def forward(self, x: Any) -> Any:
            return self.around(x) + self.inside(x)

    layers: list[Any] = [nn.Conv2d(4, 128, 3, 1, 1), Residual(128, 128)]
    for given, made in ((128, 128), (128, 64), (64, 64)):
        layers += [nn.Upsample(scale_factor=2), nn.Conv2d(given, given, 3, 1, 1), Residual(given, made)]
    layers += [nn.GroupNorm(32, 64), nn.SiLU(), nn.Conv2d(64, 3, 3, 1, 1)]
    return nn.Sequential(*layers), {"latent": torch.randn(batch, 4, 32, 32)}


def style_transfer(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """An image in another style: mirrored edges, instance norms (Johnson and others, 2016)."""
    nn = torch.nn

    def conv(given: int, made: int, kernel: int, stride: int = 1) -> list[Any]:
        mirrored = nn.ReflectionPad2d(kernel // 2)
        return [mirrored, nn.Conv2d(given, made, kernel, stride), nn.InstanceNorm2d(made, affine=True)]

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = nn.Sequential(*conv(128, 128, 3), nn.ReLU(), *conv(128, 128, 3))

        def forward(self, x: Any) -> Any:
            return x + self.inside(x)

    layers: list[Any] = []
    for given, made, kernel, stride in ((3, 32, 9, 1), (32, 64, 3, 2), (64, 128, 3, 2)):
        layers += [*conv(given, made, kernel, stride), nn.ReLU()]
    layers += [Residual() for _ in range(5)]
    for given, made in ((128, 64), (64, 32)):
        layers += [nn.Upsample(scale_factor=2), *conv(given, made, 3), nn.ReLU()]
    layers += [nn.ReflectionPad2d(4), nn.Conv2d(32, 3, 9)]
    return nn.Sequential(*layers), {"image": torch.randn(batch, 3, 256, 256)}


def generator(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """An image of a hundred numbers, by transposed convolutions of 4 x 4 (DCGAN)."""
    nn = torch.nn
    layers: list[Any] = []
    for given, made, stride, pad in ((100, 512, 1, 0), (512, 256, 2, 1), (256, 128, 2, 1), (128, 64, 2, 1)):
        layers += [nn.ConvTranspose2d(given, made, 4, stride, pad, bias=False), nn.BatchNorm2d(made), nn.ReLU()]
    layers += [nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()]
    return nn.Sequential(*layers), {"code": torch.randn(batch, 100, 1, 1)}


def wavenet(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """A series by dilated convolutions and gates, a step of features at a time (WaveNet without its causality)."""
    nn = torch.nn

    class WaveNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv1d(80, 128, 1), nn.Conv1d(128, 40, 1)
            holes = [2**k for k in range(8)]
            self.gates = nn.ModuleList([nn.Conv1d(128, 256, 3, padding=n, dilation=n) for n in holes])
            self.mixes = nn.ModuleList([nn.Conv1d(128, 128, 1) for _ in holes])

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            for gate, mix in zip(self.gates, self.mixes, strict=True):
                value, weight = gate(x).chunk(2, 1)
                x = x + mix(torch.tanh(value) * torch.sigmoid(weight))
            return self.last(x)

    return WaveNet(), {"series": torch.randn(batch, 80, 500)}


def conformer(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """What is said: four layers of attention and long depthwise convolutions (Gulati and others, 2020)."""
    nn, width, heads = torch.nn, 144, 4

    def dense() -> Any:
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = dense(), dense()
            self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
            self.parts, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.gate = nn.Conv1d(width, 2 * width, 1)
            self.window = nn.Sequential(
                nn.Conv1d(width, width, 31, padding=15, groups=width),
                nn.BatchNorm1d(width),
                nn.SiLU(),
                nn.Conv1d(width, width, 1),
            )

        def forward(self, x: Any) -> Any:
            x = x + 0.5 * self.before(x)
            parts = self.parts(self.norms[0](x)).unflatten(2, (3, heads, width // heads)).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
            x = x + self.out(seen.transpose(1, 2).flatten(2))
            gated = nn.functional.glu(self.gate(self.norms[1](x).transpose(1, 2)), 1)
            x = x + self.window(gated).transpose(1, 2)
            return self.norms[2](x + 0.5 * self.after(x))

    return nn.Sequential(*(Layer() for _ in range(4))), {"frames": torch.randn(batch, 200, width)}


def text_reader(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """A line of text in an image: convolutions, then LSTMs in both directions (CRNN)."""
    nn = torch.nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers: list[Any] = [_block(nn, 1, 64), nn.MaxPool2d(2), _block(nn, 64, 128), nn.MaxPool2d(2)]
            layers += [_block(nn, 128, 256), _block(nn, 256, 256), nn.MaxPool2d((2, 1))]
            layers += [_block(nn, 256, 512), nn.MaxPool2d((2, 1)), nn.Conv2d(512, 512, 2)]
            self.image = nn.Sequential(*layers)
            self.sequence = nn.LSTM(512, 256, 2, bidirectional=True)
            self.last = nn.Linear(512, 37)

        def forward(self, x: Any) -> Any:
            return self.last(self.sequence(self.image(x).squeeze(2).permute(2, 0, 1))[0])

    return Reader(), {"image": torch.randn(batch, 1, 32, 256)}


def tagger(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """A label for each word of a sentence, by GRUs in both directions."""
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(5000, 128)
            self.sequence = nn.GRU(128, 128, 2, batch_first=True, bidirectional=True)
            self.last = nn.Linear(256, 20)

        def forward(self, words: Any) -> Any:
            return self.last(self.sequence(self.words(words))[0]).log_softmax(-1)

    return Tagger(), {"words": torch.randint(0, 5000, (batch, 64))}


def points(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """What a thousand points in space show: the same layers for each, then the largest of all (PointNet)."""
    nn = torch.nn

    class Points(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers: list[Any] = []
            for given, made in ((3, 64), (64, 128), (128, 1024)):
                layers += [nn.Conv1d(given, made, 1), nn.BatchNorm1d(made), nn.ReLU()]
            self.each = nn.Sequential(*layers)
            self.all = nn.Sequential(
                nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 40)
            )

        def forward(self, x: Any) -> Any:
            return self.all(self.each(x).amax(2))

    return Points(), {"points": torch.randn(batch, 3, 1024)}


def recommender(torch: Any, batch: int) -> tuple[Any, dict[str, Any]]:
    """Rows of numbers and categories, by tables and products of each pair (DLRM); 128 rows for a sample."""
    nn, tables, width = torch.nn, 26, 64

    def dense(*widths: int) -> list[Any]:
        return [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]

    class Recommender(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.numbers = nn.Sequential(*dense(13, 512, 256, width)[:-1])
            self.tables = nn.ModuleList([nn.Embedding(1000, width) for _ in range(tables)])
            self.top = nn.Sequential(*dense(width + tables * (tables + 1) // 2, 512, 256, 1)[:-1], nn.Sigmoid())

        def forward(self, numbers: Any, categories: Any) -> Any:
            first = self.numbers(numbers)
            rows = torch.stack([first, *(table(categories[:, i]) for i, table in enumerate(self.tables))], 1)
            one, other = torch.tril_indices(tables + 1, tables + 1, -1)
            pairs = (rows @ rows.transpose(1, 2))[:, one, other]
            return self.top(torch.cat([first, pairs], 1))

    rows = 128 * batch
    inputs = {"numbers": torch.randn(rows, 13), "categories": torch.randint(0, 1000, (rows, tables))}
    return Recommender(), inputs


KINDS = {
    make.__name__: Kind(make)
    for make in (
        *(unet, detector, pyramid, super_resolution, image_decoder, style_transfer, generator),
        *(wavenet, conformer, text_reader, tagger, points, recommender),
    )
}
