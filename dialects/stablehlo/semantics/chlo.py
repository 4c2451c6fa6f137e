"""Meanings of CHLO's ops that are neither `erf` and its like (`special`) nor plain NumPy functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ....compiler.semantics import Call, Region, Spec, meaning_named, plain, semantics
from ....compiler.weights import Array
from .. import special_functions as special
from ..chlo_binary import BROADCAST
from ..chlo_scan import ScanOp
from ..chlo_structured import RaggedDotOp
from .elementwise import total_order, widened

NUMPY = SimpleNamespace(
    full=np.full_like,
    where=np.where,
    exp=np.exp,
    log=np.log,
    log1p=np.log1p,
    sqrt=np.sqrt,
    abs=np.abs,
    floor=np.floor,
    sin=np.sin,
    cos=np.cos,
    power=np.power,
    clip=np.clip,
    round32=lambda x: np.asarray(x).astype(np.float32).astype(np.float64),  # pyright: ignore[reportUnknownLambdaType]
)


def _doubled(x: Array) -> Array:
    return widened(x).astype(np.float64)


@semantics("chlo.bessel_i1e")
def bessel_i1e(x: Array) -> Array:
    return np.asarray(special.bessel_i1e(NUMPY, _doubled(x))).astype(x.dtype)


@semantics("chlo.zeta")
def zeta(x: Array, q: Array) -> Array:
    return np.asarray(special.zeta(NUMPY, _doubled(x), _doubled(q))).astype(x.dtype)


@semantics("chlo.polygamma")
def polygamma(n: Array, x: Array) -> Array:
    return np.asarray(special.polygamma(NUMPY, _doubled(n), _doubled(x))).astype(x.dtype)


@semantics("chlo.next_after")
def next_after(x: Array, y: Array) -> Array:
    return np.nextafter(x, y)


@semantics("chlo.tan")
def tan(x: Array) -> Array:
    return np.tan(x) if x.dtype.kind == "c" else np.tan(_doubled(x)).astype(x.dtype)


@semantics("chlo.square")
def square(x: Array) -> Array:
    return np.square(widened(x)).astype(x.dtype)


@semantics("chlo.conj")
def conj(x: Array) -> Array:
    return np.conj(x) if x.dtype.kind == "c" else x


@semantics("chlo.is_inf")
def is_inf(x: Array) -> Array:
    return np.isinf(widened(x))


@semantics("chlo.is_pos_inf")
def is_pos_inf(x: Array) -> Array:
    return np.isposinf(widened(x))


@semantics("chlo.is_neg_inf")
def is_neg_inf(x: Array) -> Array:
    return np.isneginf(widened(x))


@semantics("chlo.mulhi")
def mulhi(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    product = (x.astype(object) * y.astype(object)) >> bits
    return np.asarray(product).astype(x.dtype)


@semantics("chlo.constant")
def constant(*, value: Array) -> Array:
    return value


@semantics("chlo.constant_like")
def constant_like(x: Array, *, value: Any, result: Spec) -> Array:
    return np.full(x.shape, value, result.dtype)


@semantics(*(op.name for op in BROADCAST.values()), "chlo.broadcast_complex", "chlo.broadcast_compare")
def broadcast(x: Array, y: Array, *, call: Call) -> Any:
    """The op of the same name without `broadcast`, on operands that NumPy has made equal."""
    name = call.op.name.removeprefix("chlo.broadcast_")
    wide = np.broadcast_arrays(x, y)
    keywords = {key: plain(value) for key, value in call.op.properties.items() if key != "broadcast_dimensions"}
    stem = "chlo" if name in ("next_after", "polygamma", "zeta") else "stablehlo"
    meaning = meaning_named(f"{stem}.{name}")
    assert meaning is not None
    return meaning.function(*wide, **keywords)


@semantics("chlo.broadcast_select")
def broadcast_select(pred: Array, x: Array, y: Array) -> Array:
    return np.where(pred, x, y)


@semantics("chlo.top_k")
def top_k(x: Array, *, k: int, is_stable: bool = True) -> list[Array]:
    """The larger first, of equals the first; NaN is larger than all, -0 smaller than 0."""
    keys = total_order(np.ascontiguousarray(x)) if x.dtype.kind in "fV" else x.astype(object)
    order = np.argsort(-keys.astype(object), axis=-1, kind="stable")[..., :k]
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


@semantics("chlo.scan")
def scan(
    *args: Array, dimension: int, is_reverse: bool = False, regions: list[Region], results: list[Spec], call: Call
) -> list[Array]:
    """The body for one slice after another: its last results are what it is given with the next."""
    op = call.op
    assert isinstance(op, ScanOp)
    inputs, carries = args[: len(op.inputs)], list(args[len(op.inputs) :])
    made = [np.zeros(spec.shape or (), spec.dtype) for spec in results[: len(op.outputs)]]
    order = range(op.length)
    for i in reversed(order) if is_reverse else order:
        at = (slice(None),) * dimension + (i,)
        found = regions[0](*(np.asarray(x[at]) for x in inputs), *carries)
        for whole, part in zip(made, found, strict=False):
            whole[at] = part
        carries = found[len(made) :]
    return [*made, *carries]


@semantics("chlo.ragged_dot")
def ragged_dot(lhs: Array, rhs: Array, group_sizes: Array, *, call: Call, result: Spec) -> Array:
    op = call.op
    assert isinstance(op, RaggedDotOp) and result.dtype is not None
    numbers = op.ragged_dot_dimension_numbers.data
    narrow = result.dtype.itemsize < 4
    dtype = np.dtype(np.float32) if narrow and result.dtype.kind in "fV" else result.dtype
    ragged = numbers.lhs_ragged_dimensions[0]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left, right = [next(letters) for _ in lhs.shape], [next(letters) for _ in rhs.shape]
    for kind in ("batching", "contracting"):
        pairs = zip(getattr(numbers, f"lhs_{kind}_dimensions"), getattr(numbers, f"rhs_{kind}_dimensions"), strict=True)
        for mine, other in pairs:
            right[other] = left[mine]
    ends = np.cumsum(group_sizes)
    place = np.arange(lhs.shape[ragged])
    inside = (place >= np.concatenate([[0], ends[:-1]])[:, None]) & (place < ends[:, None])  # [group, place]
    if op.mode() == 3:  # the batch is whole, however it falls into groups
        inside = (np.arange(len(group_sizes)) == 0)[:, None] & np.ones(len(place), bool)
    batch = [left[i] for i in numbers.lhs_batching_dimensions]
    rows = [c for i, c in enumerate(left) if c not in batch and i not in numbers.lhs_contracting_dimensions]
    groups = "G"
    for i in numbers.rhs_group_dimensions:
        right[i] = groups
    columns = [c for c in right if c not in left and c != groups]
    out = [*([groups] if op.mode() == 2 else []), *batch, *rows, *columns]
    terms = f"{''.join(left)},{groups}{left[ragged]},{''.join(right)}->{''.join(out)}"
    wide = widened(lhs).astype(dtype), inside.astype(dtype), widened(rhs).astype(dtype)
    return np.asarray(np.einsum(terms, *wide)).astype(result.dtype)
