"""Random hub programs: straight lines of valid ops over odd shapes and all dtypes, for tests that compare targets.

A program is a function of choices: `choose(low, high)` gives an integer in the closed range. Under hypothesis the
choices are drawn, so that a failing program shrinks; `random_choices(seed)` gives them from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..compiler.context import LaminaContext
from ..compiler.dtypes import dtype_of, element_type_of
from ..compiler.program import Program
from ..compiler.weights import Array
from ..dialects import all_dialects
from ..dialects.stablehlo import BroadcastInDimOp
from ..dialects.stablehlo.constants import make_constant

Choose = Callable[[int, int], int]
Maker = Callable[["Generator"], Operation | None]

DTYPES = ("float32", "float32", "float32", "float64", "int32", "int64", "int8", "uint8", "bool")
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 0)
LARGEST = 1 << 13  # elements of one value

MAKERS: list[Maker] = []


def random_choices(seed: int) -> Choose:
    """Choices from a seed."""
    rng = np.random.default_rng(seed)
    return lambda low, high: int(rng.integers(low, high + 1))


@dataclass
class Case:
    """A program and inputs for it."""

    program: Program
    inputs: list[Array]

    def __str__(self) -> str:
        given = "\n".join(f"// input {i}: {array.tolist()}" for i, array in enumerate(self.inputs))
        return f"{self.program}\n{given}"


class Generator:
    """Builds one function, op by op, from values it has."""

    def __init__(self, choose: Choose):
        self.choose = choose
        self.block = Block()
        self.context = LaminaContext()
        for name, dialect in all_dialects().items():
            self.context.register_dialect(name, dialect)

    def pick(self, items: Sequence[Any]) -> Any:
        """One of `items`."""
        return items[self.choose(0, len(items) - 1)]

    @property
    def values(self) -> list[SSAValue]:
        """All values so far."""
        return [*self.block.args, *(result for op in self.block.ops for result in op.results)]

    def value(self, kinds: str = "fiub", rank: tuple[int, int] = (0, 5)) -> SSAValue | None:
        """A value with a dtype of one of `kinds` (NumPy's letters) and a rank in the range; late ones are likely."""
        found = [v for v in self.values if dtype(v).kind in kinds and rank[0] <= len(shape(v)) <= rank[1]]
        if not found:
            return None
        return found[-1 - min(self.choose(0, len(found) - 1), self.choose(0, len(found) - 1))]

    def add(self, op: Operation) -> SSAValue:
        """Appends an op that a maker needs beside the one it returns."""
        self.block.add_op(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        """A constant."""
        return self.add(make_constant(array, self.context.weights, "c"))

    def numbers(self, shape: Sequence[int], kind: np.dtype[Any]) -> Array:
        """Elements of moderate size; sometimes whole numbers, sometimes with the corners of the dtype."""
        rng = np.random.default_rng(self.choose(0, 1 << 20))
        style = self.choose(0, 5)
        if kind.kind == "b":
            return rng.integers(0, 2, shape).astype(kind)
        if kind.kind in "iu":
            if style == 5:
                info = np.iinfo(kind)
                return rng.choice(np.array([info.min, info.max, 0, 1, 2, info.max // 3], kind), shape)
            return rng.integers(-9 if kind.kind == "i" else 0, 10, shape).astype(kind)
        values = rng.standard_normal(shape) * (3 if style < 3 else 1)
        if style == 4:
            values = np.round(values)
        if style == 5:
            special = rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30], shape)
            values = np.where(rng.random(shape) < 0.2, special, values)
        return np.asarray(values).astype(kind)

    def new_shape(self) -> list[int]:
        """A shape of up to four dimensions."""
        sizes: list[int] = []
        for _ in range(self.choose(0, 4)):
            size = SIZES[min(self.choose(0, len(SIZES) - 1), self.choose(0, len(SIZES) - 1))]
            if math.prod(sizes) * size <= LARGEST // 4:
                sizes.append(size)
        return sizes

    def like(self, value: SSAValue) -> SSAValue:
        """A value of the type of `value`: an existing one, or a constant, splat or not."""
        others = [v for v in self.values if v.type == value.type]
        style = self.choose(0, 3)
        if style < 2 and len(others) > 1:
            return self.pick(others)
        if style == 2:
            scalar = self.constant(self.numbers((), dtype(value)))
            return self.add(BroadcastInDimOp(scalar, shape=shape(value), broadcast_dimensions=[]))
        return self.constant(self.numbers(shape(value), dtype(value)))

    def case(self, most: int = 20) -> Case:
        """A program of up to `most` ops, and inputs."""
        inputs: list[Array] = []
        for _ in range(self.choose(1, 3)):
            array = self.numbers(self.new_shape(), np.dtype(self.pick(DTYPES)))
            inputs.append(array)
            self.block.insert_arg(TensorType(cast(Any, element_type_of(array.dtype)), array.shape), len(inputs) - 1)
        for _ in range(self.choose(1, most)):
            op = self.pick(MAKERS)(self)
            if op is not None and all(math.prod(shape(r)) <= LARGEST for r in op.results):
                self.block.add_op(op)
        results = [r for op in self.block.ops for r in op.results if not r.first_use] or list(self.block.args)
        types = [result.type for result in results[-4:]]
        self.block.add_op(ReturnOp(*results[-4:]))
        kind = FunctionType.from_lists([arg.type for arg in self.block.args], types)
        module = ModuleOp([FuncOp("main", kind, Region(self.block), visibility="public")])
        return Case(Program(module, self.context), inputs)


def makes(maker: Maker) -> Maker:
    """Registers the maker of one family of ops; it returns None when the values so far do not suit it."""
    MAKERS.append(maker)
    return maker


def shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor value."""
    return cast("TensorType[Attribute]", value.type).get_shape()


def dtype(value: SSAValue) -> np.dtype[Any]:
    """The dtype of a tensor value's elements."""
    return dtype_of(value.type)
