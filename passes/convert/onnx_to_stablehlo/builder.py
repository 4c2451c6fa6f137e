"""Builds hub ops for the operator table: NumPy's broadcasting, constants by value, small results folded at once.

Folding at once is what makes the Shape-Gather-Concat-Reshape chains of exported models vanish: a small tensor of
known values never becomes an op that anything depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, LocationAttr, Signedness, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....compiler.diagnostics import LaminaError, ValuesNeeded
from ....compiler.dtypes import dtype_of
from ....compiler.size_limits import excess
from ....compiler.weights import Array, WeightStore
from ....dialects import stablehlo as hlo
from ....dialects.onnx import OnnxOp
from ....dialects.onnx.attributes import resource_key
from ....dialects.stablehlo.constants import make_constant
from ....dialects.stablehlo.semantics import evaluate
from .dependence import inputs_behind
from .limits import identity

Value = SSAValue
Number = int | float | bool
Operand = SSAValue | Number | complex

_MOST_ELEMENTS = 1 << 26  # of a constant that the rule of an operator computes
_FOLDED_ELEMENTS = 4096  # results up to this size are computed at once when their inputs are known


class GraphBuilder:
    """Appends hub ops to a block. `node` is the ONNX op being lowered; its location goes to every op made."""

    def __init__(self, block: Block, weights: WeightStore, lower: Callable[[GraphBuilder, OnnxOp], None]):
        self.block = block
        self.weights = weights
        self.node: OnnxOp | None = None
        self.values: dict[SSAValue, SSAValue] = {}  # of the onnx level -> of the hub
        self._known: dict[SSAValue, Array] = {}
        self._scalars: dict[tuple[Attribute, str], SSAValue] = {}
        self.extents: dict[SSAValue, dict[int, SSAValue]] = {}  # sizes that data decide: dimension -> an i64 of rank 0
        self.sizes: dict[SSAValue, Array] = {}  # the entries of tensors that are computed from them
        self.places: dict[SSAValue, SSAValue] = {}  # of what is not zero in a value, which is asked for each use of it
        self.sums: dict[Any, Any] = {}  # of such sizes, by what they are sums of, and the other way round
        self.key: SSAValue | None = None  # the input that random numbers are made of, where there are any
        self._draws: int | None = 0  # how many operators made some; None in a loop, whose steps would draw the same
        self._lower = lower
        self.decompositions: dict[str, FuncOp] = {}  # of composites, to be put into the module

    # making ops

    def __call__(self, op: Operation) -> Value:
        """Appends `op`, folds it when its operands are small constants, and returns its first result."""
        return self.all(op)[0]

    def all(self, op: Operation) -> list[Value]:
        """Appends `op`, folds it when its operands are small constants, and returns all its results."""
        for result in op.results:
            if reason := excess(result.type):
                raise self.fail(reason)
        folded = self._fold(op)
        if folded is not None:
            op.erase()
            return [self.constant(array) for array in folded]
        place = self.location
        if place is not None:
            for inner in op.walk():
                inner.location = place
        self.block.add_op(op)
        return list(op.results)

    def _fold(self, op: Operation) -> list[Array] | None:
        if not op.operands or (op.regions and not isinstance(op, hlo.ReduceOp)):
            return None
        known = [self._known.get(operand) for operand in op.operands]
        arrays = [array for array in known if array is not None]
        if len(arrays) != len(known):
            return None
        sizes = [math.prod(shape_of(value)) for value in (*op.results, *op.operands)]
        return evaluate(op, arrays) if max(sizes) <= _FOLDED_ELEMENTS else None

    @property
    def location(self) -> LocationAttr | None:
        """Where the operator at hand comes from; every op made is given it."""
        return None if self.node is None else self.node.location

    @property
    def result_name(self) -> str | None:
        """What the source calls the first result of the operator at hand."""
        return self.node.results[0].name_hint if self.node is not None and self.node.results else None

    def fail(self, message: str, hint: str | None = None) -> LaminaError:
        """The error to raise when the operator at hand cannot be lowered for the reason given."""
        return LaminaError(message, where=self.node, hint=hint)

    @property
    def opset(self) -> int:
        """The version of the domain that the operator at hand is written in."""
        assert self.node is not None
        return self.node.opset

    @property
    def wanted(self) -> list[bool]:
        """Which outputs of the operator at hand anything reads."""
        assert self.node is not None
        return [bool(result.uses) for result in self.node.results]

    def region(self, index: int, arguments: Sequence[Value]) -> list[Value]:
        """Lowers subgraph `index` of the operator at hand in place and returns its outputs."""
        node = self.node
        assert node is not None
        block = node.regions[index].block
        if len(block.args) != len(arguments):
            raise self.fail(f"the graph takes {len(block.args)} values and is given {len(arguments)}")
        self.values.update(zip(block.args, arguments, strict=True))
        outputs: list[Value] = []
        for op in block.ops:
            if isinstance(op, OnnxOp):
                self._lower(self, op)
            else:
                outputs = [self.values[operand] for operand in op.operands]
        self.node = node
        return outputs

    def bounded(self, x: Value, dimension: int, size: Value) -> Value:
        """`x`, of which only the first `size` (an i64 of rank 0) along `dimension` count."""
        self.extents.setdefault(x, {})[dimension] = size
        return x

    def random_key(self) -> tuple[Value, int]:
        """Two ui32 that every call is given anew, and a number that no other random operator has."""
        if self._draws is None:
            raise self.fail("random numbers without a seed in a loop are not supported")
        if self.key is None:
            word = IntegerType(32, Signedness.UNSIGNED)
            self.key = self.block.insert_arg(TensorType(word, [2]), len(self.block.args))
            self.key.name_hint = "key"
            if self.location is not None:
                self.key.location = self.location
        self._draws += 1
        return self.key, self._draws

    @contextmanager
    def inner(self, types: Sequence[Attribute]) -> Generator[GraphBuilder]:
        """A builder of the block of a loop, with arguments of these types, that sees what this one knows.

        Where it comes to an error, the block uses nothing any more.
        """
        inner = GraphBuilder(Block(arg_types=types), self.weights, self._lower)
        inner.node, inner._draws = self.node, None
        inner.values, inner._known = self.values, self._known
        inner.extents, inner.sizes, inner.sums = self.extents, self.sizes, dict(self.sums)
        inner.places, inner.decompositions = dict(self.places), self.decompositions
        try:
            yield inner
        except LaminaError:
            inner.block.drop_all_references()
            raise

    # constants

    def constant(self, array: Array | Number, like: Value | None = None, name: str | None = None) -> Value:
        """`array` as a constant; `like` gives the element type of a plain number.

        `name` is for the weight store, where large arrays go; by default the output being computed.
        """
        if name is None:
            name = self.result_name or "constant"
        if not isinstance(array, np.ndarray):
            array = np.asarray(array, None if like is None else dtype_of(like.type))
        op = make_constant(array, self.weights, resource_key(name))
        op.location = self.location or op.location
        self.block.add_op(op)
        self._known[op.results[0]] = array
        return op.results[0]

    def make_room(self, *shape: int) -> None:
        """Raises LaminaError where a constant of this shape is too large to be computed here."""
        if math.prod(shape) > _MOST_ELEMENTS:
            raise self.fail(f"a constant of shape {list(shape)} is too large")

    def scalar(self, number: Number | complex, element: Attribute) -> Value:
        """A constant without dimensions, one per value and element type."""
        key = (element, repr(number))
        if key not in self._scalars:
            self._scalars[key] = self.constant(np.asarray(number, dtype_of(element)))
        return self._scalars[key]

    def constant_value(self, x: Value) -> Array | None:
        """The array `x` is known to be, None when that depends on the model's inputs."""
        return self._known.get(x)

    def depends_on_inputs(self, x: Value) -> bool:
        """Whether `x` follows from the values of the function's inputs alone."""
        return bool(inputs_behind(x, self.block))

    def require_constant(self, x: Value, what: str) -> Array:
        """The array `x` is known to be. Raises ValuesNeeded naming `what` when it depends on the inputs."""
        array = self._known.get(x)
        if array is None:
            message = f"{what} must be known at compile time"
            inputs = inputs_behind(x, self.block)
            if not inputs:
                raise self.fail(message)
            hint = "compile with the value fixed in the model, or call the model: it is compiled for the values given"
            raise ValuesNeeded(message, inputs, where=self.node, hint=hint)
        return array

    def ints(self, x: Value, what: str) -> list[int]:
        """The integers `x` is known to hold. Raises LaminaError naming `what` when they depend on the inputs."""
        return [int(n) for n in self.require_constant(x, what).reshape(-1)]

    def number(self, x: Value, what: str) -> Any:
        """The one element `x` is known to hold, as a Python number. Raises LaminaError when it has more."""
        array = self.require_constant(x, what)
        if array.size != 1:
            raise self.fail(f"{what} must be one number, got shape {list(array.shape)}")
        return array.reshape(())[()].item()

    # shapes

    def axis(self, axis: int, rank: int) -> int:
        """`axis` counted from the front. Raises LaminaError outside [-rank, rank)."""
        if not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is out of range for rank {rank}")
        return axis % rank if rank else 0

    def axes(self, axes: Sequence[int] | None, rank: int) -> list[int]:
        """`axes` counted from the front, all when None. Raises LaminaError for one out of range or twice."""
        result = list(range(rank)) if axes is None else [self.axis(axis, rank) for axis in axes]
        if len(set(result)) != len(result):
            raise self.fail(f"axes {list(axes or ())} name one axis twice")
        return sorted(result)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` in another shape of as many elements."""
        if shape_of(x) == tuple(shape):
            return x
        known = self._known.get(x)
        if known is not None and known.size > _FOLDED_ELEMENTS:  # a view, whatever its size
            return self.constant(_reshaped(known, tuple(shape)))
        return self(hlo.ReshapeOp(x, list(shape)))

    def expand_dims(self, x: Value, axes: Sequence[int]) -> Value:
        """`x` with dimensions of size 1 inserted so that they end up at `axes` (counted from the front)."""
        shape = list(shape_of(x))
        for axis in sorted(axes):
            shape.insert(axis, 1)
        return self.reshape(x, shape)

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """`x` with dimension `permutation[i]` in place `i`."""
        if list(permutation) == list(range(rank_of(x))):
            return x
        return self(hlo.TransposeOp(x, permutation=list(permutation)))

    def broadcast_to(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` in the larger `shape`, by NumPy's rule. Raises LaminaError when it does not broadcast to it."""
        shape, own = tuple(shape), shape_of(x)
        if own == shape:
            return x
        offset = len(shape) - len(own)
        if offset < 0 or any(n not in (1, m) for n, m in zip(own, shape[offset:], strict=True)):
            raise self.fail(f"shape {list(own)} does not broadcast to {list(shape)}")
        dimensions = list(range(offset, len(shape)))
        return self(hlo.BroadcastInDimOp(x, shape=list(shape), broadcast_dimensions=dimensions))

    def broadcast_shape(self, *shapes: Sequence[int]) -> tuple[int, ...]:
        """The common shape by NumPy's rule. Raises LaminaError naming the shapes when there is none."""
        try:
            return np.broadcast_shapes(*map(tuple, shapes))
        except ValueError:
            names = " and ".join(str(list(shape)) for shape in shapes)
            raise self.fail(f"shapes {names} do not broadcast") from None

    def broadcast(self, *operands: Operand) -> list[Value]:
        """Operands in their common shape; plain numbers take the element type of the first value."""
        first = next(x for x in operands if isinstance(x, SSAValue))
        values = [x if isinstance(x, SSAValue) else self.scalar(x, element_of(first)) for x in operands]
        shape = self.broadcast_shape(*(shape_of(value) for value in values))
        return [self.broadcast_to(value, shape) for value in values]

    def slice(
        self, x: Value, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None
    ) -> Value:
        """`x[start:limit:strides]`, given for every dimension."""
        steps = list(strides or [1] * len(start))
        if not any(start) and tuple(limit) == shape_of(x) and set(steps) <= {1}:
            return x
        return self(hlo.SliceOp(x, start_indices=list(start), limit_indices=list(limit), strides=steps))

    def slice_axis(self, x: Value, axis: int, start: int, limit: int) -> Value:
        """`x[start:limit]` along one axis, whole along the others."""
        shape = shape_of(x)
        starts, limits = [0] * len(shape), list(shape)
        starts[axis], limits[axis] = start, limit
        return self.slice(x, starts, limits)

    def concatenate(self, values: Sequence[Value], axis: int) -> Value:
        """The values one after the other along `axis`; one alone stays as it is."""
        return values[0] if len(values) == 1 else self(hlo.ConcatenateOp(list(values), dimension=axis))

    def pad(self, x: Value, value: Value, low: Sequence[int], high: Sequence[int]) -> Value:
        """`x` with `value` around it; negative amounts crop."""
        if not any(low) and not any(high):
            return x
        return self(hlo.PadOp(x, value, edge_padding_low=list(low), edge_padding_high=list(high)))

    def iota(self, shape: Sequence[int], axis: int, element: Attribute) -> Value:
        """Counts 0, 1, ... along `axis`."""
        if math.prod(shape) > _FOLDED_ELEMENTS:
            return self(hlo.IotaOp(TensorType(element, list(shape)), axis))
        dims = [1] * len(shape)
        dims[axis] = shape[axis]
        counts = np.arange(shape[axis], dtype=dtype_of(element)).reshape(dims)
        return self.constant(np.broadcast_to(counts, tuple(shape)))

    # arithmetic; every binary one broadcasts

    def unary(self, op: type[hlo.UnaryOp], x: Value) -> Value:
        """`op` on every element."""
        return self(op(x))

    def binary(self, op: type[hlo.BinaryOp], x: Operand, y: Operand) -> Value:
        """`op` on every pair of elements after broadcasting."""
        left, right = self.broadcast(x, y)
        if element_of(left) != element_of(right):
            raise self.fail(f"element types {element_of(left)} and {element_of(right)} differ")
        return self(op(left, right))

    def add(self, x: Operand, y: Operand) -> Value:
        return self.binary(hlo.AddOp, x, y)

    def subtract(self, x: Operand, y: Operand) -> Value:
        return self.binary(hlo.SubtractOp, x, y)

    def multiply(self, x: Operand, y: Operand) -> Value:
        return self.binary(hlo.MultiplyOp, x, y)

    def divide(self, x: Operand, y: Operand) -> Value:
        return self.binary(hlo.DivideOp, x, y)

    def maximum(self, x: Operand, y: Operand) -> Value:
        return self.binary(hlo.MaximumOp, x, y)

    def minimum(self, x: Operand, y: Operand) -> Value:
        return self.binary(hlo.MinimumOp, x, y)

    def exponential(self, x: Value) -> Value:
        return self(hlo.ExponentialOp(x))

    def sqrt(self, x: Value) -> Value:
        return self(hlo.SqrtOp(x))

    def rsqrt(self, x: Value) -> Value:
        return self(hlo.RsqrtOp(x))

    def negate(self, x: Value) -> Value:
        return self(hlo.NegateOp(x))

    def abs(self, x: Value) -> Value:
        return x if is_unsigned(x) else self(hlo.AbsOp(x))

    def compare(self, x: Operand, y: Operand, direction: str) -> Value:
        """`x < y` and so on: direction is LT, LE, GT, GE, EQ or NE."""
        left, right = self.broadcast(x, y)
        return self(hlo.CompareOp(left, right, comparison_direction=direction))

    def logical_and(self, x: Value, y: Value) -> Value:
        return self.binary(hlo.AndOp, x, y)

    def logical_or(self, x: Value, y: Value) -> Value:
        return self.binary(hlo.OrOp, x, y)

    def select(self, predicate: Value, on_true: Operand, on_false: Operand) -> Value:
        """Where the predicate holds `on_true`, else `on_false`; all three broadcast."""
        first = next(x for x in (on_true, on_false) if isinstance(x, SSAValue))
        chosen = [x if isinstance(x, SSAValue) else self.scalar(x, element_of(first)) for x in (on_true, on_false)]
        p, a, b = self.broadcast(predicate, *chosen)
        return self(hlo.SelectOp(p, a, b))

    def convert(self, x: Value, element: Attribute) -> Value:
        """`x` with another element type; floats become integers by truncation, anything becomes i1 by `!= 0`."""
        return x if element_of(x) == element else self(hlo.ConvertOp(x, element))

    def power(self, x: Value, exponent: float) -> Value:
        """`x` to a fixed exponent, by multiplications and roots where these do."""
        match exponent:
            case 1:
                return x
            case 2:
                return self.multiply(x, x)
            case 3:
                return self.multiply(self.multiply(x, x), x)
            case 0.5:
                return self.sqrt(x)
            case 0.75:
                root = self.sqrt(x)
                return self.multiply(root, self.sqrt(root))
            case -0.5:
                return self.rsqrt(x)
            case -1:
                return self.divide(1.0, x)
            case _:
                return self.binary(hlo.PowerOp, x, exponent)

    # reductions and contractions

    def reduce(self, kind: str, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        """Reduces `axes` by add, multiply, maximum, minimum, and, or; `keepdims` leaves them with size 1."""
        if not axes:
            return x
        start = self.scalar(identity(kind, element_of(x)), element_of(x))
        result = self(hlo.ReduceOp([x], [start], dimensions=list(axes), body=kind))
        kept = [1 if i in axes else n for i, n in enumerate(shape_of(x))]
        return self.reshape(result, kept) if keepdims else result

    def mean(self, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        """The sum over `axes` divided by their size."""
        count = math.prod(shape_of(x)[axis] for axis in axes)
        total = self.reduce("add", x, axes, keepdims)
        return self.divide(total, float(count) if is_float(x) else count)

    def dot(
        self,
        lhs: Value,
        rhs: Value,
        contracting: tuple[Sequence[int], Sequence[int]],
        batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> Value:
        """stablehlo.dot_general: dimensions come out as batching, free of lhs, free of rhs."""
        for left, right in (*zip(*contracting, strict=True), *zip(*batching, strict=True)):
            mine, other = shape_of(lhs)[left : left + 1], shape_of(rhs)[right : right + 1]
            if not mine or mine != other:
                why = f": {mine[0]} is not {other[0]}" if mine and other else ""
                raise self.fail(f"shapes {list(shape_of(lhs))} and {list(shape_of(rhs))} do not fit{why}")
        return self(
            hlo.DotGeneralOp(
                lhs,
                rhs,
                lhs_batching_dimensions=list(batching[0]),
                rhs_batching_dimensions=list(batching[1]),
                lhs_contracting_dimensions=list(contracting[0]),
                rhs_contracting_dimensions=list(contracting[1]),
            )
        )


def _reshaped(array: Array, shape: tuple[int, ...]) -> Array:
    """A view in another shape; one value repeated stays one value in memory."""
    if array.size and not any(array.strides):
        return np.broadcast_to(array.reshape(-1)[:1].reshape(()), shape)
    return array.reshape(shape)


def tensor_of(x: Value) -> TensorType:
    """The tensor type of a hub value."""
    if not isinstance(x.type, TensorType):
        raise VerifyException(f"expected a tensor, got {x.type}")
    return x.type


def shape_of(x: Value) -> tuple[int, ...]:
    """The shape of a hub value."""
    return tensor_of(x).get_shape()


def rank_of(x: Value) -> int:
    """How many dimensions a hub value has."""
    return tensor_of(x).get_num_dims()


def element_of(x: Value) -> Attribute:
    """The element type of a hub value."""
    return tensor_of(x).element_type


def is_float(x: Value) -> bool:
    """Whether the elements are floating-point numbers."""
    return not isinstance(element_of(x), IntegerType) and "complex" not in element_of(x).name


def is_unsigned(x: Value) -> bool:
    """Whether the elements are unsigned integers."""
    element = element_of(x)
    return isinstance(element, IntegerType) and element.signedness.data == Signedness.UNSIGNED


def is_bool(x: Value) -> bool:
    """Whether the elements are truth values."""
    return element_of(x) == i1
