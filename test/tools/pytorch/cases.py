"""Calls of PyTorch that must come out of the importer as they come out of PyTorch: name -> function and inputs."""

import torch
import torch.nn.functional as F

generator = torch.Generator().manual_seed(7)


def rand(*shape, low=-3.0, high=3.0, dtype=torch.float32):
    """Seeded values."""
    return (torch.rand(*shape, generator=generator) * (high - low) + low).to(dtype)


def ints(*shape, low=-4, high=5, dtype=torch.int64):
    """Seeded integers."""
    return torch.randint(low, high, shape, generator=generator, dtype=dtype)


X, Y, POSITIVE, UNIT = rand(3, 5), rand(3, 5), rand(3, 5, low=0.1), rand(3, 5, low=-0.9, high=0.9)
I, J = ints(3, 5), ints(3, 5, low=1)
B = ints(3, 5) > 0
SPECIAL = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.5, 0.5])
IMAGE, PLANES = rand(2, 4, 9, 8), rand(2, 3, 6, 7)

CASES = {}


def case(name, function, *inputs):
    """Adds a case."""
    assert name not in CASES, name
    CASES[name] = (function, inputs)


for name in [
    "abs",
    "neg",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "frac",
    "round",
    "relu",
    "silu",
    "sigmoid",
    "tanh",
    "sin",
    "cos",
    "tan",
    "exp",
    "expm1",
    "erf",
    "erfc",
    "sinh",
    "cosh",
]:
    case(name, getattr(torch, name, None) or getattr(F, name), X)
for name in ["asinh", "atan", "isfinite", "isnan", "isinf", "logical_not", "square", "softmax_"][:-1]:
    case(name, getattr(torch, name), X)
for name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "acosh"]:
    case(name, getattr(torch, name), POSITIVE + (1 if name == "acosh" else 0))
for name in ["asin", "acos", "atanh"]:
    case(name, getattr(torch, name), UNIT)
for name in ["abs", "sign", "floor", "ceil", "trunc", "relu"]:
    case(name + " special", getattr(torch, name), SPECIAL)
for name in ["sin", "exp", "sqrt", "sigmoid", "tanh"]:
    case(name + " of integers", getattr(torch, name), J)
for name in [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmod",
    "remainder",
    "atan2",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "fmax",
    "fmin",
]:
    case(name, getattr(torch, name), X, Y)
    if name not in ("atan2",):
        case(name + " of integers", getattr(torch, name), I, J)
        case(name + " mixed", getattr(torch, name), X, J)
for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    case(name, getattr(torch, name), I, J)
    case(name + " of truth values", getattr(torch, name), B, I > 1)
for name in ["logical_and", "logical_or", "logical_xor"]:
    case(name, getattr(torch, name), B, X)
case("bitwise_not", torch.bitwise_not, I)
case("shift", lambda x: (x << 2) + (x >> 1), I)
case("floor_divide", torch.floor_divide, X, Y)
case("floor_divide of integers", torch.floor_divide, I, J)
case("divide trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), I, J)
case("scalars", lambda x: (2 - x) * 3 / 4 + 1.5, X)
case("integers and a float", lambda x: x * 0.5 + 1, I)
case("truth values and an integer", lambda x: x + 1, B)
case("a tensor of no dimensions", lambda x, y: x + y, rand(3).half(), torch.tensor(2.0))
case("add alpha", lambda x, y: torch.add(x, y, alpha=2), X, Y)
case("pow", lambda x: torch.stack([x**2, x**3, x**0.5, x**-1, x**1.7, 2.0**x]), POSITIVE)
case("pow tensor", torch.pow, POSITIVE, X)
case("pow of integers", lambda x: x**3, I)
case("where", torch.where, B, X, Y)
case("where scalar", lambda b, x: torch.where(b, x, 0.0), B, X)
case("masked_fill", lambda x, b: x.masked_fill(b, float("-inf")), X, B)
case("clamp", lambda x: torch.clamp(x, -1, 1), X)
case("clamp min", lambda x: x.clamp(min=0.5), X)
case("clamp tensor", torch.clamp, X, -POSITIVE, POSITIVE)
case("casts", lambda x: (x.int(), x.double(), x.bool(), x.half(), x.bfloat16(), x.long()), X)
case("nan_to_num", lambda x: torch.nan_to_num(x), SPECIAL)
case("round decimals", lambda x: torch.round(x, decimals=1), X)
case("lerp", lambda x, y: torch.lerp(x, y, 0.3), X, Y)
case("addcmul", lambda x, y: torch.addcmul(x, y, y, value=0.5), X, Y)

for name in [
    "gelu",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "softplus",
    "mish",
    "logsigmoid",
    "relu6",
    "softsign",
    "tanhshrink",
    "softshrink",
    "hardshrink",
]:
    case(name, getattr(F, name), X)
case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), X)
case("prelu", F.prelu, IMAGE, rand(4))
case("glu", lambda x: F.glu(x, 1), IMAGE)

case("arange", lambda x: x + torch.arange(5), X)
case("arange float", lambda x: x + torch.arange(0, 1, 0.2), X)
case("arange long", lambda x: torch.arange(5000, 3, -1)[None] * x, I[:1, :1])
case("full", lambda x: torch.full((2, 3), 7.0) + torch.ones(3) + torch.zeros(2, 1) + x[:1, :1], X)
case("like", lambda x: (torch.ones_like(x), torch.zeros_like(x, dtype=torch.int32), torch.full_like(x, 3)), X)
case("tril", lambda x: (torch.tril(x), torch.triu(x, 1), torch.tril(x, -1)), rand(2, 4, 4))
case("triangle indices", lambda x: (torch.tril_indices(3, 5, 1) + x, torch.triu_indices(4, 2, -1) * 2), I[:1, :1])
case("eye", lambda x: x @ torch.eye(5), X)

case("view", lambda x: x.view(5, -1).reshape(15).view(1, 3, 5), X)
case("permute", lambda x: x.permute(0, 3, 1, 2).transpose(0, 2), IMAGE)
case("expand", lambda x: x[:, None].expand(3, 2, -1), X)
case("squeeze", lambda x: (x[:1].squeeze(), x[:1].squeeze(0), x.unsqueeze(-1)), X)
case("slices", lambda x: (x[1:, ::2], x[..., -3:-1], x[1], x[:, -1], x[2:1]), X)
case("split", lambda x: (*x.split(2, 1), *x.chunk(2, 0), *x.unbind(0)), X)
case("cat", lambda x, y: (torch.cat([x, y], 1), torch.stack([x, y], 1), torch.cat([x, y.double()])), X, Y)
case("repeat", lambda x: (x.repeat(2, 1, 3), x.repeat_interleave(2, 1)), X)
case("flip", lambda x: (x.flip(0), x.flip([0, 1]), x.roll(2, 1), x.roll(1)), X)
case("pad", lambda x: (F.pad(x, (1, 2, 0, -1)), F.pad(x, (1, 1), value=3.0)), X)
case("pad modes", lambda x: (F.pad(x, (2, 1, 3, 0), "reflect"), F.pad(x, (2, 1, 1, 3), "replicate")), IMAGE)
case("diagonal", lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1, 0, 1)), X)
case("unfold", lambda x: x.unfold(1, 3, 2), X)
case("pixel shuffle", lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x[..., :8, :], 2)), IMAGE)


def assigned(x, y):
    """Writes into parts of a copy."""
    x = x.clone()
    x[1:, 1:4:2] = y[1:, :2]
    x[0] = 5
    x[:, 2] += 1
    x[x > 2] = 0.0
    return x


case("assignment", assigned, X, Y)
case("diagonal assignment", lambda x, y: torch.diagonal_scatter(x, y[0, :3]), X, Y)

INDEX = ints(4, low=-3, high=3)
case("index", lambda x, i: (x[i], x[:, i], x[i, i + 1], x[None, i]), X, INDEX)
case("index apart", lambda x, i: x[i, :, i], rand(3, 4, 3), INDEX)
case("index adjacent", lambda x, i: x[:, i, i], rand(2, 3, 3), INDEX)
case("index grid", lambda x, i: x[i[:, None], i[None]], X, INDEX)
case("index_select", lambda x, i: torch.index_select(x, 1, i % 3), X, INDEX)
case("gather", lambda x, i: torch.gather(x, 1, i), X, ints(3, 4, low=0))
case(
    "scatter", lambda x, i, y: (x.scatter(1, i, y), x.scatter(1, i, 2.0)), X, torch.tensor([[0, 2], [1, 3], [4, 0]]), Y
)
case("scatter_add", lambda x, i, y: x.scatter_add(0, i, y), X, ints(3, 5, low=0, high=3), Y)
case(
    "scatter_reduce",
    lambda x, i, y: tuple(
        x.scatter_reduce(0, i, y, r, include_self=s)
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
    ),
    X,
    ints(3, 5, low=0, high=2),
    Y,
)
case("index_put", lambda x, i, y: torch.index_put(x, (i,), y), X, torch.tensor([0, 2]), Y[:2])
case("index_put accumulate", lambda x, i, y: torch.index_put(x, (i, i), y, accumulate=True), X, INDEX, rand(4))
case("index_add", lambda x, i, y: x.index_add(1, i % 3, y[:, :4], alpha=2), X, INDEX, Y)
case("embedding", lambda w, i: F.embedding(i, w, padding_idx=0), rand(7, 4), ints(2, 3, low=0, high=7))
case("masked_scatter", lambda x, b, y: x.masked_scatter(b, y), X, B, Y)
case("one_hot", lambda i: F.one_hot(i, 5), ints(2, 3, low=0, high=5))
case(
    "bucketize",
    lambda x: (torch.bucketize(x, torch.arange(-2.0, 3.0)), torch.searchsorted(torch.arange(5.0), x, right=True)),
    X,
)
case("isin", lambda i: torch.isin(i, torch.tensor([1, 3])), I)

case("sum", lambda x: (x.sum(), x.sum(0), x.sum((0, 1), keepdim=True), x.sum(1, dtype=torch.float64)), X)
case("sum of integers", lambda i, b: (i.sum(), b.sum(1), i.to(torch.int8).sum(0)), I, B)
case("mean", lambda x: (x.mean(), x.mean(1, keepdim=True)), X)
case("prod", lambda x: (x.prod(), x.prod(1)), X)
case(
    "extremes",
    lambda x: (
        x.amax(1),
        x.amin((0, 1)),
        x.max(),
        x.min(),
        *x.max(1),
        *x.min(0),
        x.argmax(),
        x.argmin(1, keepdim=True),
    ),
    X,
)
case("extremes of integers", lambda x: (x.amax(1), *x.max(1), x.argmin(0)), I)
case("any", lambda b, x: (b.any(), b.all(1), x.any(0), torch.any(b, dim=(0, 1))), B, X)
case("var", lambda x: (x.var(), x.var(1), x.std(0, unbiased=False), *torch.var_mean(x, 1, correction=0)), X)
case(
    "norm",
    lambda x: (
        x.norm(),
        torch.linalg.vector_norm(x, 1, 1),
        torch.linalg.vector_norm(x, float("inf")),
        F.normalize(x, dim=1),
    ),
    X,
)
case("logsumexp", lambda x: torch.logsumexp(x, 1), X)
case("cumsum", lambda x, i: (x.cumsum(1), i.cumsum(0), x.cumprod(1)), X, I)
case("cummax", lambda x: (*x.cummax(1), *x.cummin(0)), X)
case("sort", lambda x: (*x.sort(1), *x.sort(0, descending=True), x.argsort(1)), X)
case("topk", lambda x: (*x.topk(2, 1), *x.topk(3, 0, largest=False)), X)
case("diff", lambda x: (torch.diff(x), torch.trapezoid(x)), X)
case("median of an odd count", lambda x: x.sort(1)[0][:, 2], X)

case("matmul", torch.matmul, rand(2, 3, 4), rand(4, 5))
case("matmul batches", torch.matmul, rand(2, 1, 3, 4), rand(3, 4, 5))
case("vectors", lambda x, y: (x[0] @ y[0], x @ y[0], torch.outer(x[0], y[0])), X, Y)
case("addmm", lambda x, y, z: torch.addmm(x, y, z, beta=0.5, alpha=2), rand(3, 4), rand(3, 5), rand(5, 4))
case("baddbmm", torch.baddbmm, rand(2, 3, 4), rand(2, 3, 5), rand(2, 5, 4))
case("linear", F.linear, rand(2, 3, 4), rand(5, 4), rand(5))
case("bilinear", F.bilinear, rand(3, 4), rand(3, 5), rand(6, 4, 5), rand(6))
case(
    "einsum",
    lambda x, y: (torch.einsum("bij,bjk->bik", x, y), torch.einsum("bij,bjk->i", x, y)),
    rand(2, 3, 4),
    rand(2, 4, 3),
)
case("cdist", lambda x, y: (torch.cdist(x, y), torch.cdist(x, y, 1.0)), rand(3, 4), rand(5, 4))
case("cosine", lambda x, y: F.cosine_similarity(x, y), X, Y)

Q, K, V = rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 7)
case("attention", F.scaled_dot_product_attention, Q, K, V)
case("attention causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3), Q, Q, Q)
case("attention mask", F.scaled_dot_product_attention, Q, K, V, rand(2, 1, 6, 5))
case(
    "attention hides",
    lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > 0),
    Q,
    K,
    V,
    rand(6, 5).index_fill(0, torch.tensor([2]), -1),
)
case(
    "attention groups", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), Q, K[:, :2], V[:, :2]
)

case("conv", lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), IMAGE, rand(6, 4, 3, 3), rand(6))
case("conv groups", lambda x, w: F.conv2d(x, w, groups=2, dilation=2), IMAGE, rand(6, 2, 3, 3))
case("conv depthwise same", lambda x, w: F.conv2d(x, w, groups=4, padding="same"), IMAGE, rand(4, 1, 3, 4))
case("conv 1", lambda x, w: F.conv1d(x, w, padding=2, stride=3), rand(2, 4, 11), rand(5, 4, 3))
case("conv 3", lambda x, w: F.conv3d(x, w), rand(1, 2, 4, 5, 6), rand(3, 2, 2, 3, 2))
case(
    "conv transpose",
    lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
    IMAGE,
    rand(4, 3, 3, 3),
    rand(3),
)
case("conv transpose groups", lambda x, w: F.conv_transpose2d(x, w, groups=2, dilation=2), IMAGE, rand(4, 3, 2, 3))

case(
    "max_pool",
    lambda x: (F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.max_pool1d(x[:, :, 0], 2)),
    IMAGE,
)
case("max_pool places", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE)
case(
    "avg_pool",
    lambda x: (
        F.avg_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        F.avg_pool2d(x, 2, ceil_mode=True),
        F.avg_pool1d(x[:, :, 0], 3),
    ),
    IMAGE,
)
case("a window larger than the image", lambda x: F.avg_pool2d(x, 20, ceil_mode=True), IMAGE)
case(
    "adaptive pool",
    lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x[:, :, :8], 4)),
    IMAGE,
)

case("softmax", lambda x: (F.softmax(x, 1), F.log_softmax(x, 0), F.softmax(x.half().float(), -1)), X)
case("layer_norm", lambda x, w, b: (F.layer_norm(x, (5,), w, b), F.layer_norm(x, (3, 5))), X, rand(5), rand(5))
case("rms_norm", lambda x, w: F.rms_norm(x, (5,), w, 1e-6), X, rand(5))
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), IMAGE, rand(4), rand(4))
case("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), IMAGE, rand(4), rand(4))
case(
    "batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), IMAGE, rand(4), rand(4, low=0.1), rand(4), rand(4)
)

case(
    "nearest",
    lambda x: (
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, size=(5, 13)),
        F.interpolate(x, size=(5, 13), mode="nearest-exact"),
    ),
    PLANES,
)
case(
    "bilinear upsampling",
    lambda x: tuple(F.interpolate(x, size=(11, 4), mode="bilinear", align_corners=a) for a in (False, True)),
    PLANES,
)
case(
    "bicubic upsampling",
    lambda x: tuple(F.interpolate(x, scale_factor=1.5, mode="bicubic", align_corners=a) for a in (False, True)),
    PLANES,
)
case("linear upsampling", lambda x: F.interpolate(x[:, :, 0], scale_factor=2.0, mode="linear"), PLANES)
case(
    "grid_sample",
    lambda x, g: tuple(
        F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=a)
        for m, p, a in (("bilinear", "zeros", False), ("nearest", "border", True), ("bicubic", "reflection", False))
    ),
    PLANES,
    rand(2, 4, 5, 2, low=-1.2, high=1.2),
)
case("columns", lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=1, stride=2), PLANES)
case("columns back", lambda x: F.fold(x, (6, 7), (3, 2), dilation=(1, 2), padding=1, stride=2), rand(2, 18, 12))
case("as_strided", lambda x: torch.as_strided(x, (2, 3), (2, 4), 1), X)
case("pdist", F.pdist, X)
case("affine_grid", lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False), rand(2, 2, 3))

case(
    "losses",
    lambda x, i: (
        F.cross_entropy(x, i),
        F.nll_loss(x, i),
        F.mse_loss(x, x * 2),
        F.l1_loss(x, x * 2),
        F.smooth_l1_loss(x, x * 3),
        F.binary_cross_entropy_with_logits(x, x),
        F.kl_div(x, x),
    ),
    X,
    torch.tensor([0, 4, 2]),
)
case(
    "lstm",
    lambda x, h, c, *w: torch.lstm(x, (h, c), list(w), True, 1, 0.0, False, False, True),
    rand(2, 3, 4),
    rand(1, 2, 5),
    rand(1, 2, 5),
    rand(20, 4),
    rand(20, 5),
    rand(20),
    rand(20),
)
case(
    "gru",
    lambda x, h, *w: torch.gru(x, h, list(w), True, 1, 0.0, False, False, True),
    rand(2, 3, 4),
    rand(1, 2, 5),
    rand(15, 4),
    rand(15, 5),
    rand(15),
    rand(15),
)
case("half", lambda x, y: (x @ y.T, F.softmax(x, 1), F.layer_norm(x, (5,)), x.sum(), torch.exp(x)), X.half(), Y.half())
case("bfloat16", lambda x, y: (x @ y.T, F.softmax(x, 1), x.mean(0), F.gelu(x)), X.bfloat16(), Y.bfloat16())
case("double", lambda x, y: (x @ y.T, F.softmax(x, 1), torch.erf(x)), X.double(), Y.double())

TABLE, BAGS, STARTS = rand(7, 3), ints(8, low=0, high=7), torch.tensor([0, 3, 3, 6])
for mode in ("sum", "mean", "max"):
    case(f"embedding_bag_{mode}", lambda w, i, o, m=mode: F.embedding_bag(i, w, o, mode=m), TABLE, BAGS, STARTS)
case(
    "embedding_bag_weighted",
    lambda w, i, o, p: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p, padding_idx=2),
    TABLE,
    BAGS,
    STARTS,
    rand(8),
)
case(
    "embedding_bag_to_the_end",
    lambda w, i, o: F.embedding_bag(i, w, o, mode="mean", include_last_offset=True),
    TABLE,
    BAGS,
    torch.tensor([0, 2, 5, 8]),
)
for mode, more in (("nearest", ()), ("bilinear", (False,)), ("bicubic", (True,))):
    case(
        f"gradient of {mode} upsampling",
        lambda g, m=mode, a=more: getattr(torch.ops.aten, f"upsample_{m}2d_backward")(g, [9, 7], [2, 3, 6, 7], *a),
        rand(2, 3, 9, 7),
    )

# complex numbers and Fourier transforms

C, D = torch.complex(rand(3, 5), rand(3, 5)), torch.complex(rand(3, 5), rand(3, 5))
PAIRS, ROTATIONS = rand(2, 7, 4, 8), torch.polar(torch.ones(7, 1, 4), rand(7, 1, 4))
WAVES, GRID = rand(2, 400), rand(2, 6, 7, 3)
for name in [
    *("real", "imag", "angle", "abs", "sgn", "conj_physical", "view_as_real", "isfinite", "isreal"),
    *("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "square", "sin", "cos", "tan", "sinh", "tanh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "sum", "mean", "std", "var"),
]:
    case(f"complex {name}", getattr(torch, name), C)
for name in ["add", "sub", "mul", "div", "pow"]:
    case(f"complex {name}", getattr(torch, name), C, D)
    case(f"complex {name} of a real tensor", getattr(torch, name), C, X)
case("complex numbers in the program", lambda x: (x * 2j, 1j - x, x**2, torch.exp(1j * x.real)), C)
case("complex of a real tensor and a number", lambda x, y: (x * 2j, y + 1j, torch.full((2,), 1 - 2j)), X, I)
case("complex of parts", lambda x, y: (torch.complex(x, y), torch.polar(x.abs(), y)), X, Y)
case("angle of real numbers", torch.angle, SPECIAL)
case("conjugate of real numbers", lambda x: x.conj() + torch.conj_physical(x), X)
case("complex products", lambda x, y: (x @ y.T, x @ y.mH, torch.vdot(x[0], y[0]), torch.outer(x[0], y[1])), C, D)
case("complex layer", F.linear, C, torch.complex(rand(4, 5), rand(4, 5)))
case("complex convolution", F.conv1d, C[None], torch.complex(rand(2, 3, 2), rand(2, 3, 2)))
case("complex choices", lambda x, y: (torch.where(x.real > 0, x, y), x.masked_fill(x.abs() > 2, 0), x == y), C, D)
case("complex casts", lambda x, i: (x.to(torch.complex64), i.to(torch.complex128), (x > 0).to(torch.complex64)), X, I)
case("complex moved", lambda x: (x.flip(1), F.pad(x, (1, 2)), torch.cat([x, x.conj()]), x.cumsum(1), x[[0, 2]]), C)
case(
    "rotary by complex numbers",
    lambda x, f: torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * f).flatten(-2),
    PAIRS,
    ROTATIONS,
)
for f in [torch.fft.fft, torch.fft.ifft, torch.fft.hfft, torch.fft.irfft]:
    case(f"{f.__name__} of complex numbers", lambda x, f=f: (f(x), f(x, n=8, dim=0, norm="ortho")), C)
for f in [torch.fft.fft, torch.fft.rfft, torch.fft.ihfft]:
    case(f"{f.__name__} of real numbers", lambda x, f=f: (f(x), f(x, n=4, norm="forward")), X)
for name in ["fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"]:
    case(f"{name} of complex numbers", getattr(torch.fft, name), torch.complex(rand(2, 3, 4, 6), rand(2, 3, 4, 6)))
for name in ["rfft2", "rfftn"]:
    case(f"{name} of real numbers", getattr(torch.fft, name), rand(2, 3, 4, 7))
case("fft in double", lambda x: (torch.fft.rfft(x), torch.fft.ifft(x)), X.double())
case("fft of a prime number of points", torch.fft.rfft, rand(2, 131))
case("frequencies", lambda x: x + torch.fft.fftfreq(5) + torch.fft.fftshift(torch.fft.rfftfreq(9, 0.1)), X)
case("means of tokens (FNet)", lambda x: torch.fft.fftn(x, dim=(1, 2)).real, rand(2, 12, 10))
case(
    "filter of frequencies (GFNet)",
    lambda x, w: torch.fft.irfft2(torch.fft.rfft2(x, dim=(1, 2)) * torch.view_as_complex(w), s=(6, 7), dim=(1, 2)),
    GRID,
    rand(6, 4, 3, 2),
)
case(
    "long convolution (Hyena)",
    lambda u, k: torch.fft.irfft(torch.fft.rfft(u, n=48) * torch.fft.rfft(k, n=48), n=48)[..., :24],
    rand(2, 3, 24),
    rand(3, 24),
)
case(
    "spectrogram",
    lambda x: torch.stft(x, 64, 16, window=torch.hann_window(64), return_complex=True).abs().square(),
    WAVES,
)
case(
    "stft of all frequencies",
    lambda x: torch.stft(
        x, 32, 20, 24, torch.hann_window(24), center=False, normalized=True, onesided=False, return_complex=True
    ),
    WAVES,
)
case(
    "istft",
    lambda x, y: torch.istft(torch.complex(x, y), 64, 16, window=torch.hann_window(64)),
    rand(2, 33, 26),
    rand(2, 33, 26),
)

# layers of experts

EXPERTS, ENDS = rand(4, 8, 16).bfloat16(), torch.tensor([2, 2, 7, 9], dtype=torch.int32)


def by_groups(x, weight, ends):
    """Rows in groups, each by a matrix of its own; rows of no group are zeros."""
    return torch.ops.aten._grouped_mm(x, weight, ends)


def experts(x, weight, router):
    """A layer whose tokens choose two of its matrices each, as `transformers` writes it."""
    scores, chosen = (x @ router).softmax(-1).topk(2)
    ids, order = torch.sort(chosen.reshape(-1))
    count = torch.histc(ids.float(), bins=4, min=0, max=3)
    made = by_groups(x[order // 2].bfloat16(), weight, torch.cumsum(count, 0, dtype=torch.int32))
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order))
    return (made * scores.reshape(-1)[order][:, None])[back].view(len(x), 2, -1).sum(1).bfloat16()


case("rows in groups", by_groups, rand(9, 8).bfloat16(), EXPERTS, ENDS)
case("experts", experts, rand(7, 8), EXPERTS, rand(8, 4))
case("histogram", lambda x: (torch.histc(x, 4, -1, 1), torch.histc(x, 7), torch.histc(x * 0, 3)), X)
case("histogram of what is no number", lambda x: torch.histc(x, 5, -3, 3), SPECIAL)
