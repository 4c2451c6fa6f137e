"""The ops of `gpu`, under MLIR's names; sizes of launches are constants here."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i8,
    i32,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

KERNEL = "gpu.kernel"  # on a function: it is launched, not called
BLOCK_SIZE = "gpu.known_block_size"  # on a kernel: the threads of its blocks along x, y, z
GRID_SIZE = "gpu.known_grid_size"  # on a kernel: its blocks along x, y, z
ROLLED = "gpu.rolled"  # on a kernel: its loops are as they should be, nobody is to unroll them
SHARED_SPACE = 3  # the memory space of a block's shared memory
WARP = 32
WARPGROUP = 4 * WARP
MOST_THREADS = 1024
MOST_BLOCKS = (1 << 31) - 1
KINDS = ("add", "mul", "maximumf", "minimumf", "maxsi", "minsi", "maxui", "minui", "and", "or", "xor")
_DIMENSIONS = ("x", "y", "z")
_SCALAR = base(IntegerType) | AnyFloatConstr


class IdOp(IRDLOperation, ABC):
    """A number that tells a thread where it is: `%0 = gpu.thread_id x`."""

    dimension = prop_def(StringAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())

    def __init__(self, dimension: str):
        super().__init__(result_types=[IndexType()], properties={"dimension": StringAttr(dimension)})

    MOST: ClassVar[int]  # the largest number there may be

    def verify_(self) -> None:
        if self.dimension.data not in _DIMENSIONS:
            raise VerifyException(f"dimension '{self.dimension.data}' is none of x, y, z")

    @classmethod
    def parse(cls, parser: Parser) -> IdOp:
        word = parser.parse_optional_keyword_in(set(_DIMENSIONS)) or parser.raise_error("expected x, y or z")
        op = cls(word)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dimension.data}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ThreadIdOp(IdOp):
    """Which thread of its block this is: `%t = gpu.thread_id x`."""

    name = "gpu.thread_id"
    MOST: ClassVar[int] = MOST_THREADS - 1


@irdl_op_definition
class BlockIdOp(IdOp):
    """Which block of the grid this is: `%b = gpu.block_id y`."""

    name = "gpu.block_id"
    MOST: ClassVar[int] = MOST_BLOCKS - 1


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the block come here before one goes on: `gpu.barrier`."""

    name = "gpu.barrier"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """The bytes that a block's threads share, all of them.

    %smem = gpu.dynamic_shared_memory : memref<1024xi8, 3 : i32>
    """

    name = "gpu.dynamic_shared_memory"
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, nbytes: int):
        super().__init__(result_types=[shared_type(i8, [nbytes])])

    def verify_(self) -> None:
        type_ = self.result.type
        assert isinstance(type_, MemRefType)
        if type_.element_type != i8 or not in_shared_space(type_) or type_.get_num_dims() != 1:
            raise VerifyException(f"expected bytes in memory space {SHARED_SPACE}, got {type_}")


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """What the thread whose number differs in the bits of `offset` has: `%y = gpu.shuffle xor %x, 16 : f32`.

    MLIR's, of whole warps and with a constant offset; all 32 threads take part.
    """

    name = "gpu.shuffle"
    T: ClassVar = VarConstraint("T", _SCALAR)
    value = operand_def(T)
    offset = prop_def(IntegerAttr.constr(i32))
    result = result_def(T)

    def __init__(self, value: SSAValue, offset: int):
        super().__init__(operands=[value], result_types=[value.type], properties={"offset": IntegerAttr(offset, i32)})

    def verify_(self) -> None:
        if not 0 < self.offset.value.data < WARP:
            raise VerifyException(f"offset {self.offset.value.data} is not within a warp of {WARP}")

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        parser.parse_keyword("xor")
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(value, parser.parse_type()), offset)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" xor ")
        printer.print_ssa_value(self.value)
        printer.print_string(f", {self.offset.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class SubgroupBroadcastOp(IRDLOperation):
    """What the first thread of the warp has, which then is the same for all: `%y = gpu.subgroup_broadcast %x : index`.

    MLIR's with `first_active_lane`; all 32 threads take part.
    """

    name = "gpu.subgroup_broadcast"
    T: ClassVar = VarConstraint("T", base(IndexType))
    value = operand_def(T)
    result = result_def(T)
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class SubgroupReduceOp(IRDLOperation):
    """The values of `size` neighbouring threads combined; each of them gets the result.

    %s = gpu.subgroup_reduce add %x cluster(size = 8) : f32
    """

    name = "gpu.subgroup_reduce"
    T: ClassVar = VarConstraint("T", _SCALAR)
    value = operand_def(T)
    kind = prop_def(StringAttr)
    size = prop_def(IntegerAttr.constr(i32))
    result = result_def(T)

    def __init__(self, kind: str, value: SSAValue, size: int = WARP):
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={"kind": StringAttr(kind), "size": IntegerAttr(size, i32)},
        )

    def verify_(self) -> None:
        size = self.size.value.data
        _verify_kind(self.kind)
        if size < 1 or size > WARP or size & (size - 1):
            raise VerifyException(f"{size} threads are not a power of two of at most {WARP}")

    @classmethod
    def parse(cls, parser: Parser) -> SubgroupReduceOp:
        kind = parser.parse_identifier()
        value = parser.parse_unresolved_operand()
        parser.parse_keyword("cluster")
        parser.parse_punctuation("(")
        parser.parse_keyword("size")
        parser.parse_punctuation("=")
        size = parser.parse_integer()
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(kind, parser.resolve_operand(value, parser.parse_type()), size)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_ssa_value(self.value)
        printer.print_string(f" cluster(size = {self.size.value.data})")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """The values of all threads of the block combined; each gets the result: `%s = gpu.all_reduce add %x : f32`."""

    name = "gpu.all_reduce"
    T: ClassVar = VarConstraint("T", _SCALAR)
    value = operand_def(T)
    kind = prop_def(StringAttr)
    result = result_def(T)

    def __init__(self, kind: str, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        _verify_kind(self.kind)

    @classmethod
    def parse(cls, parser: Parser) -> AllReduceOp:
        kind = parser.parse_identifier()
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(kind, parser.resolve_operand(value, parser.parse_type()))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class LaunchFuncOp(IRDLOperation):
    """Runs a kernel on a grid of blocks; what comes after sees what it wrote.

    gpu.launch_func @copy(%a, %b) {blocks = array<i64: 4, 1, 1>, threads = array<i64: 128, 1, 1>}
        : memref<512xf32>, memref<512xf32>
    """

    name = "gpu.launch_func"
    arguments = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    blocks = prop_def(DenseArrayBase.constr(i64))
    threads = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` type($arguments)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], blocks: Sequence[int], threads: Sequence[int]):
        super().__init__(
            operands=[arguments],
            properties={
                "callee": SymbolRefAttr(callee),
                "blocks": DenseArrayBase.from_list(i64, list(blocks)),
                "threads": DenseArrayBase.from_list(i64, list(threads)),
            },
        )

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y, z."""
        x, y, z = self.blocks.get_values()
        return int(x), int(y), int(z)

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z."""
        x, y, z = self.threads.get_values()
        return int(x), int(y), int(z)

    def verify_(self) -> None:
        for what, sizes in (("blocks", self.blocks.get_values()), ("threads", self.threads.get_values())):
            if len(sizes) != 3 or min(sizes) < 1:
                raise VerifyException(f"{what} {list(sizes)} are not three positive sizes")
        if prod(self.block) > MOST_THREADS:
            raise VerifyException(f"{prod(self.block)} threads, a block has at most {MOST_THREADS}")


def _verify_kind(kind: StringAttr) -> None:
    if kind.data not in KINDS:
        raise VerifyException(f"'{kind.data}' is none of {', '.join(KINDS)}")


def shared_type(element: IntegerType, shape: Sequence[int]) -> MemRefType:
    """A buffer in a block's shared memory."""
    return MemRefType(element, shape, memory_space=IntegerAttr(SHARED_SPACE, i32))


def in_shared_space(type_: MemRefType) -> bool:
    """Whether a buffer lies in a block's shared memory."""
    space = type_.memory_space
    return isinstance(space, IntegerAttr) and space.value.data == SHARED_SPACE
