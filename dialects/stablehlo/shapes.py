"""What the StableHLO specification says of types: result types from operands, with its numbered constraints.

Every function takes tensor types and plain integers, raises VerifyException naming the constraint that does not
hold (C1, C2, ... of the op's section in the specification), and returns the result type. Shapes are static.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType, TensorType, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from .quant import quantization

Shape = tuple[int, ...]


def fail(message: str, constraint: str = "") -> NoReturn:
    """Raises VerifyException, citing the constraint of the specification that does not hold."""
    raise VerifyException(f"{message} ({constraint})" if constraint else message)


def tensor(value: SSAValue | Attribute, what: str = "operand") -> TensorType:
    """The tensor type of a value, which must have one."""
    kind = value.type if isinstance(value, SSAValue) else value
    if not isinstance(kind, TensorType):
        fail(f"{what} must be a ranked tensor, got {kind}")
    return kind


@lru_cache(maxsize=8192)
def _tensor_type(element_type: Attribute, shape: Shape) -> TensorType:
    return TensorType(element_type, shape)


def tensor_type(element_type: Attribute, shape: Iterable[int]) -> TensorType:
    """`tensor<shape x element_type>`; equal types are one object, which saves making and checking it again."""
    return _tensor_type(element_type, tuple(shape))


def with_shape(kind: TensorType, shape: Iterable[int]) -> TensorType:
    """`kind` with another shape."""
    return _tensor_type(kind.element_type, tuple(shape))


def with_element(kind: TensorType, element_type: Attribute) -> TensorType:
    """`kind` with another element type."""
    if kind.element_type == element_type:
        return kind
    return _tensor_type(element_type, kind.get_shape())


def scalar(element_type: Attribute) -> TensorType:
    """`tensor<element_type>`."""
    return _tensor_type(element_type, ())


def real_part(kind: TensorType) -> TensorType:
    """The type of the real and imaginary parts: itself where it is not complex."""
    element = kind.element_type
    return with_element(kind, element.element_type) if isinstance(element, ComplexType) else kind


def complex_element(part: Attribute) -> ComplexType:
    """`complex<part>`."""
    if not isinstance(part, AnyFloat):
        fail(f"complex numbers have float parts, got {part}")
    return ComplexType(part)


def is_complex(kind: TensorType) -> bool:
    return isinstance(kind.element_type, ComplexType)


def check_axes(axes: Sequence[int], rank: int, name: str, in_range: str, unique: str) -> None:
    """`axes` are distinct and in [0, rank)."""
    if any(not 0 <= axis < rank for axis in axes):
        fail(f"{name} = {list(axes)} must be in [0, {rank})", in_range)
    if len(set(axes)) != len(axes):
        fail(f"{name} = {list(axes)} must be unique", unique)


def check_sizes(rank: int, constraint: str, **lists: Sequence[int]) -> None:
    """Each of `lists` has one entry per dimension."""
    for name, values in lists.items():
        if len(values) != rank:
            fail(f"{name} has {len(values)} entries, expected {rank}", constraint)


def same_shape(kinds: Sequence[TensorType], what: str, constraint: str) -> None:
    for kind in kinds[1:]:
        if kind.shape != kinds[0].shape:
            fail(f"{what} must have the same shape, got {kinds[0]} and {kind}", constraint)


def same_element(kinds: Sequence[TensorType], what: str, constraint: str) -> None:
    for kind in kinds[1:]:
        if kind.element_type != kinds[0].element_type:
            fail(f"{what} must have the same element type, got {kinds[0]} and {kind}", constraint)


# Windows: convolution, reduce_window, select_and_scatter.


@dataclass(frozen=True)
class Window:
    """A window that slides over padded, dilated dimensions; one entry per dimension in every field."""

    size: Shape
    strides: Shape
    padding: tuple[tuple[int, int], ...]
    base_dilation: Shape
    """Distance between neighbouring elements of the input: `lhs_dilation` of a convolution."""
    dilation: Shape
    """Distance between neighbouring elements of the window: `rhs_dilation` of a convolution."""
    reversal: tuple[bool, ...] = ()

    def dilated_size(self) -> Shape:
        """The extent of the window with its dilation."""
        return tuple(_dilate(n, d) for n, d in zip(self.size, self.dilation, strict=True))

    def padded_shape(self, shape: Sequence[int]) -> Shape:
        """`shape` after dilation and padding."""
        return tuple(
            low + _dilate(n, d) + high
            for n, d, (low, high) in zip(shape, self.base_dilation, self.padding, strict=True)
        )

    def output_shape(self, shape: Sequence[int]) -> Shape:
        """How many windows fit into an input of `shape`, per dimension.

        >>> Window((3,), (2,), ((1, 1),), (1,), (1,)).output_shape((7,))
        (4,)
        """
        return tuple(
            0 if extent == 0 or window > extent else (extent - window) // stride + 1
            for extent, window, stride in zip(self.padded_shape(shape), self.dilated_size(), self.strides, strict=True)
        )


def _dilate(n: int, dilation: int) -> int:
    return (n - 1) * dilation + 1 if n else 0


def check_window(window: Window, rank: int, names: dict[str, str]) -> None:
    """Sizes and signs of a window's fields; `names` gives each field its name and constraints in the op."""
    for field, name in names.items():
        label, in_size, positive = name.split()
        values = getattr(window, field)
        if len(values) != rank:
            fail(f"{label} has {len(values)} entries, expected {rank}", in_size)
        if positive != "-" and any(value <= 0 for value in values):
            fail(f"{label} = {list(values)} must be positive", positive)


# Data movement.


def transpose(operand: TensorType, permutation: Sequence[int]) -> TensorType:
    shape = operand.get_shape()
    if sorted(permutation) != list(range(len(shape))):
        fail(f"permutation = {list(permutation)} is not a permutation of [0, {len(shape)})", "C2")
    return with_shape(operand, [shape[axis] for axis in permutation])


def concatenate(inputs: Sequence[TensorType], dimension: int) -> TensorType:
    if not inputs:
        fail("needs at least one input", "C3")
    same_element(inputs, "inputs", "C1")
    first = list(inputs[0].get_shape())
    if not 0 <= dimension < len(first):
        fail(f"dimension = {dimension} must be in [0, {len(first)})", "C4")
    total = 0
    for kind in inputs:
        shape = kind.get_shape()
        if len(shape) != len(first) or any(
            a != b for axis, (a, b) in enumerate(zip(shape, first, strict=True)) if axis != dimension
        ):
            fail(f"inputs may differ in dimension {dimension} only, got {inputs[0]} and {kind}", "C2")
        total += shape[dimension]
    first[dimension] = total
    return with_shape(inputs[0], first)


def slice(operand: TensorType, start: Sequence[int], limit: Sequence[int], strides: Sequence[int]) -> TensorType:
    shape = operand.get_shape()
    check_sizes(len(shape), "C2", start_indices=start, limit_indices=limit, strides=strides)
    result: list[int] = []
    for axis, (low, high, step, size) in enumerate(zip(start, limit, strides, shape, strict=True)):
        if not 0 <= low <= high <= size:
            fail(f"slice [{low}:{high}] of dimension {axis} must be ordered and within [0, {size}]", "C3")
        if step <= 0:
            fail(f"stride {step} of dimension {axis} must be positive", "C4")
        result.append(-((low - high) // step))
    return with_shape(operand, result)


def pad(
    operand: TensorType, value: TensorType, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> TensorType:
    shape = operand.get_shape()
    if operand.element_type != value.element_type or value.get_num_dims():
        fail(f"padding_value must be tensor<{operand.element_type}>, got {value}", "C1")
    check_sizes(len(shape), "C2", edge_padding_low=low, edge_padding_high=high, interior_padding=interior)
    if any(n < 0 for n in interior):
        fail(f"interior_padding = {list(interior)} must not be negative", "C3")
    result = [n + lo + max(n - 1, 0) * mid + hi for n, lo, mid, hi in zip(shape, low, interior, high, strict=True)]
    if any(n < 0 for n in result):
        fail(f"padding gives a negative size: {result}", "C4")
    return with_shape(operand, result)


def broadcast_in_dim(operand: TensorType, dimensions: Sequence[int], result: TensorType) -> None:
    """Checks only: the specification leaves the result shape to the op."""
    shape, wide = operand.get_shape(), result.get_shape()
    same_element((operand, result), "operand and result", "C1")
    check_sizes(len(shape), "C2", broadcast_dimensions=dimensions)
    check_axes(dimensions, len(wide), "broadcast_dimensions", "C3", "C4")
    for axis, (size, target) in enumerate(zip(shape, dimensions, strict=True)):
        if size not in (1, wide[target]):
            fail(
                f"dimension {axis} of operand has size {size}, "
                f"expected 1 or {wide[target]}, the size of dimension {target} of the result",
                "C5",
            )


def reduced(kind: TensorType, dimensions: Sequence[int]) -> Shape:
    """The shape of `kind` without `dimensions`."""
    return tuple(n for axis, n in enumerate(kind.get_shape()) if axis not in dimensions)


# Linear algebra.


def fft(operand: TensorType, fft_type: str, length: Sequence[int]) -> TensorType:
    shape = operand.get_shape()
    if not 1 <= len(length) <= 3:
        fail(f"fft_length must have 1 to 3 entries, got {len(length)}", "C3")
    if len(length) > len(shape):
        fail(f"fft_length has {len(length)} entries but operand has rank {len(shape)}", "C1")
    if is_complex(operand) == (fft_type == "RFFT"):
        fail(f"{fft_type} takes a {'real' if fft_type == 'RFFT' else 'complex'} operand, got {operand}", "C2")
    if fft_type == "RFFT":
        if shape[-len(length) :] != tuple(length):
            fail(f"operand must end in the dimensions {list(length)}, got {operand}", "C4")
        return tensor_type(complex_element(operand.element_type), [*shape[:-1], shape[-1] // 2 + 1 if shape[-1] else 0])
    if fft_type == "IRFFT":
        if shape[-len(length) : -1] != tuple(length[:-1]):
            fail(f"operand must have dimensions {list(length[:-1])} before its last, got {operand}", "C4")
        if shape[-1] != (length[-1] // 2 + 1 if length[-1] else 0):
            fail(f"the last dimension of operand must be {length[-1]} / 2 + 1, got {shape[-1]}", "C5")
        return with_shape(real_part(operand), [*shape[:-1], length[-1]])
    if shape[-len(length) :] != tuple(length):  # the specification gives no meaning to other lengths
        fail(f"operand must end in the dimensions {list(length)}, got {operand}", "C4")
    return operand


def triangular_solve(a: TensorType, b: TensorType, left_side: bool) -> TensorType:
    same_element((a, b), "a and b", "C1")
    left, right = a.get_shape(), b.get_shape()
    if len(left) < 2 or len(left) != len(right):
        fail(f"a and b must have the same rank of at least 2, got {a} and {b}", "C2")
    if left[:-2] != right[:-2] or left[-2] != left[-1] or left[-1] != right[-2 if left_side else -1]:
        fail(f"a must be square and fit b, got {a} and {b}", "C3")
    return b


def cholesky(a: TensorType) -> TensorType:
    shape = a.get_shape()
    if len(shape) < 2:
        fail(f"a must have a rank of at least 2, got {a}", "C2")
    if shape[-1] != shape[-2]:
        fail(f"a must be square in its last two dimensions, got {a}", "C3")
    return a


# Element-wise with their own rules.


def compare(lhs: TensorType, rhs: TensorType) -> TensorType:
    same_element((lhs, rhs), "lhs and rhs", "C1")
    same_shape((lhs, rhs), "lhs and rhs", "C2")
    return with_element(lhs, i1)


def select(pred: TensorType, on_true: TensorType, on_false: TensorType) -> TensorType:
    if pred.element_type != i1:
        fail(f"pred must be a tensor of i1, got {pred}", "I1")
    if pred.get_num_dims() and pred.shape != on_true.shape:
        fail(f"pred must be a scalar or have the shape of on_true, got {pred} and {on_true}", "C1")
    if on_true != on_false:
        fail(f"on_true and on_false must have the same type, got {on_true} and {on_false}", "C2")
    return on_true


def clamp(low: TensorType, operand: TensorType, high: TensorType) -> TensorType:
    for name, kind, constraint in (("min", low, "C1"), ("max", high, "C2")):
        if kind.get_num_dims() and kind.shape != operand.shape:
            fail(f"{name} must be a scalar or have the shape of operand, got {kind} and {operand}", constraint)
    same_element((low, operand, high), "min, operand and max", "C3")
    return operand


def complex_of(lhs: TensorType, rhs: TensorType) -> TensorType:
    if lhs != rhs:
        fail(f"lhs and rhs must have the same type, got {lhs} and {rhs}", "C1")
    return with_element(lhs, complex_element(lhs.element_type))


def dimension_size(operand: TensorType, dimension: int) -> TensorType:
    if not 0 <= dimension < operand.get_num_dims():
        fail(f"dimension = {dimension} must be in [0, {operand.get_num_dims()})", "C1")
    return scalar(i32)


def batch_norm(operand: TensorType, features: dict[str, tuple[TensorType, str]], feature_index: int) -> TensorType:
    """Checks the per-feature tensors, each given with its size constraint, and returns the type of one."""
    shape = operand.get_shape()
    if not 0 <= feature_index < len(shape):
        fail(f"feature_index = {feature_index} must be in [0, {len(shape)})", "C1")
    expected = tensor_type(operand.element_type, [shape[feature_index]])
    for name, (kind, constraint) in features.items():
        if kind.element_type != operand.element_type:
            fail(f"{name} must have the element type of operand, got {kind} and {operand}", "C2")
        if kind != expected:
            fail(f"{name} must be {expected}, the size of dimension {feature_index}, got {kind}", constraint)
    return expected


def is_promotable(source: Attribute, target: Attribute) -> bool:
    """Whether `source` may be accumulated in `target`: the same kind of number, at least as wide."""
    if source == target:
        return True
    if isinstance(source, ComplexType) and isinstance(target, ComplexType):
        return is_promotable(source.element_type, target.element_type)
    if (narrow := quantization(source)) and (wide := quantization(target)):
        same = narrow.expressed_type == wide.expressed_type
        return same and narrow.storage_type.width.data <= wide.storage_type.width.data
    if isinstance(source, IntegerType) or isinstance(target, IntegerType):
        if not (isinstance(source, IntegerType) and isinstance(target, IntegerType)):
            return False
        if source.signedness != target.signedness or 1 in (source.width.data, target.width.data):
            return False
        return source.width.data <= target.width.data
    return getattr(source, "bitwidth", 0) <= getattr(target, "bitwidth", -1)
