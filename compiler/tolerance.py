"""How far a target may be from the reference: one table of ulps per class of op, and the bound for a program.

The error of one op is a number of units in the last place (ulp) of its result, or, where many terms are summed, of
the sum of their magnitudes. What these errors become at the end of a program depends on the program: cancellation
magnifies them, a comparison makes them a yes or no. So the bound of a program is measured: it is run several
times with each result moved at random within its op's tolerance, and the outputs' spread says what is allowed.

A target that keeps the table passes; one that is wrong does not, however ill-conditioned its neighbours are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from .context import LaminaContext
from .dtypes import DType
from .interpreter import Interpreter
from .weights import Array

# class of op -> ulps of its result that a target may differ by, for f32 and f64
ULPS = {
    "exact": 0.0,  # moves or chooses elements, compares, converts, integers
    "arithmetic": 1.0,  # correctly rounded, but a contraction to fma leaves out one rounding
    "function": 4.0,  # exp, log, tanh, ...: polynomial approximations
    "power": 16.0,  # through exp and log
    "sum": 1.0,  # per square root of the number of terms, of the sum of magnitudes
}
# extra ulps by element type: narrow floats may keep intermediate results wide
NARROW_ULPS = {"float16": 1.0, "bfloat16": 1.0}

_MEMBERS = {
    "arithmetic": "add subtract multiply divide sqrt rsqrt complex",
    "function": """exponential exponential_minus_one log log_plus_one logistic tanh tan sine cosine atan2 cbrt
        erf erfc erf_inv lgamma digamma acos acosh asin asinh atan atanh cosh sinh
        batch_norm_training batch_norm_grad""",
    "power": "power",
    "sum": """dot_general dot convolution reduce reduce_window select_and_scatter scatter fft cholesky
        triangular_solve batch_norm_inference""",
}
CLASSES: dict[str, str] = {name: kind for kind, names in _MEMBERS.items() for name in names.split()}
SUBTRACTED = {"stablehlo.batch_norm_inference": 3}  # the operand that a "sum" subtracts: its mean
SAMPLES = 6
SAFETY = 8.0  # the spread of few samples is less than the worst case


def op_class(op: Operation) -> str:
    """The class of an op in the table; sums only where its region adds or multiplies."""
    found = CLASSES.get(op.name.partition(".")[2], "exact")
    if found == "sum" and op.regions:
        inside = {CLASSES.get(inner.name.partition(".")[2], "exact") for inner in op.walk() if inner is not op}
        return "sum" if inside & {"arithmetic", "function", "power"} else "exact"
    return found


def ulp_of(dtype: DType) -> float:
    """The spacing of floats just above 1; 0 for integers and booleans.

    >>> ulp_of(np.dtype("float32")) == 2.0 ** -23
    True
    """
    if dtype.kind in "biu" or "int" in dtype.name:
        return 0.0
    return float(ml_dtypes.finfo(f"f{dtype.itemsize // 2}" if dtype.kind == "c" else dtype).eps)


@dataclass(frozen=True)
class Bounded:
    """An output of the reference, and for each element how far from it a target may be; inf allows anything."""

    value: Array
    bound: Array

    def wrong(self, actual: Array) -> Array:
        """Where `actual`, of the same shape, is out of bounds. NaN agrees with NaN, infinities with themselves."""
        exact = self.value.dtype.kind in "biu" or "int" in self.value.dtype.name
        a, b = (actual, self.value) if exact else (_wide(actual), _wide(self.value))
        same = (a == b) | ((a != a) & (b != b))
        with np.errstate(all="ignore"):
            near = np.abs(_wide(a) - _wide(b)) <= self.bound
        return ~(same | near | np.isinf(self.bound))


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def bounded_reference(module: ModuleOp, inputs: Sequence[Array], ctx: LaminaContext) -> list[Bounded]:
    """Runs `@main` by the reference semantics and measures how far a target that keeps the table may be."""
    values = Interpreter(ctx).run(module, inputs)
    spreads = [np.zeros(value.shape) for value in values]
    for seed in range(SAMPLES):
        noise = _Noise(np.random.default_rng(seed), ctx)
        moved = Interpreter(ctx, hook=noise.move).run(module, inputs)
        for spread, value, other in zip(spreads, values, moved, strict=True):
            a, b = _wide(value), _wide(other)
            with np.errstate(all="ignore"):
                distance = np.where((a == b) | ((a != a) & (b != b)), 0.0, np.abs(a - b))
            np.maximum(spread, np.nan_to_num(distance, nan=np.inf, posinf=np.inf), out=spread)
    return [Bounded(value, _bound(value, spread)) for value, spread in zip(values, spreads, strict=True)]


def _bound(value: Array, spread: Array) -> Array:
    """The spread of each element, not less than the tensor's typical one, made safe, and one ulp."""
    finite = spread[np.isfinite(spread)]
    typical = float(finite.mean()) if finite.size else 0.0
    with np.errstate(all="ignore"):
        size = np.nan_to_num(np.abs(_wide(value)), nan=0.0, posinf=0.0)
    return SAFETY * np.maximum(spread, typical) + ulp_of(value.dtype) * size


class _Noise:
    """Moves every result at random within its op's tolerance."""

    def __init__(self, rng: np.random.Generator, ctx: LaminaContext):
        self.rng = rng
        self.plain = Interpreter(ctx)

    def move(self, op: Operation, args: Sequence[Array], results: Sequence[Array]) -> Sequence[Array] | None:
        kind = op_class(op)
        if kind == "exact" or not any(ulp_of(r.dtype) for r in results):
            return None
        sizes, ulps = [np.abs(_wide(r)) for r in results], ULPS[kind]
        if kind == "sum":
            absolute = [np.abs(a).astype(a.dtype) if ulp_of(a.dtype) else a for a in args]
            if (at := SUBTRACTED.get(op.name)) is not None:
                absolute[at] = -absolute[at]
            magnitudes = self.plain.evaluate(op, absolute)
            sizes = [np.maximum(s, np.abs(_wide(m))) for s, m in zip(sizes, magnitudes, strict=True)]
            terms = max(a.size for a in args) / max(1, min(r.size for r in results))
            ulps *= max(1.0, float(np.sqrt(terms)))
        return [self._moved(r, size, ulps) for r, size in zip(results, sizes, strict=True)]

    def _moved(self, value: Array, size: Array, ulps: float) -> Array:
        ulps += NARROW_ULPS.get(value.dtype.name, 0.0)
        amount = ulps * ulp_of(value.dtype) * self.rng.uniform(-1, 1, value.shape)
        with np.errstate(all="ignore"):
            moved = _wide(value) + np.nan_to_num(size * amount, nan=0.0, posinf=0.0, neginf=0.0)
            return np.where(np.isfinite(_wide(value)), moved, _wide(value)).astype(value.dtype)
