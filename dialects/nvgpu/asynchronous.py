"""Copies into shared memory that go on while threads do other things, and the barriers that count them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..gpu.ops import WARP, in_shared_space

SWIZZLES = (0, 32, 64, 128)
COPY_BYTES = (4, 8, 16)


def verify_shared(value: SSAValue) -> None:
    """Raises VerifyException for a buffer that is not in shared memory."""
    if not isinstance(value.type, MemRefType) or not in_shared_space(value.type):
        raise VerifyException(f"expected a buffer in shared memory, got {value.type}")


@irdl_attr_definition
class TensorMapType(ParametrizedAttribute, TypeAttribute):
    """`!nvgpu.tensormap<1x128x64xbf16, 128>`: copies move boxes of this shape, swizzled within so many bytes."""

    name = "nvgpu.tensormap"
    box: ArrayAttr[IntAttr]
    element_type: Attribute
    swizzle: IntAttr

    @staticmethod
    def of(box: Sequence[int], element: Attribute, swizzle: int) -> TensorMapType:
        """The type from plain numbers."""
        return TensorMapType(ArrayAttr([IntAttr(n) for n in box]), element, IntAttr(swizzle))

    @property
    def extents(self) -> tuple[int, ...]:
        """The box, outermost dimension first."""
        return tuple(n.data for n in self.box)

    def verify(self) -> None:
        if not 1 <= len(self.box) <= 5 or self.swizzle.data not in SWIZZLES:
            raise VerifyException(f"expected 1 to 5 dimensions and a swizzle of {SWIZZLES}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            return [ArrayAttr([IntAttr(n) for n in shape]), element, IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("".join(f"{n}x" for n in self.extents))
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.swizzle.data}")


@irdl_op_definition
class CreateDescriptorOp(IRDLOperation):
    """A tensor in a buffer as the copy engine sees it, outermost dimension first; the host makes it.

    %t = nvgpu.tma.create.descriptor %x {sizes = array<i64: 1, 256, 64>, strides = array<i64: 0, 64, 1>}
        : memref<256x64xbf16> to !nvgpu.tensormap<1x128x64xbf16, 128>
    """

    name = "nvgpu.tma.create.descriptor"
    buffer = operand_def(MemRefType)
    sizes = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorMapType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffer attr-dict `:` type($buffer) `to` type($result)"

    def __init__(self, buffer: SSAValue, sizes: Sequence[int], strides: Sequence[int], type_: TensorMapType):
        arrays = {"sizes": DenseArrayBase.from_list(i64, sizes), "strides": DenseArrayBase.from_list(i64, strides)}
        super().__init__(operands=[buffer], result_types=[type_], properties=arrays)

    def verify_(self) -> None:
        type_ = self.result.type
        assert isinstance(type_, TensorMapType)
        if not len(self.sizes) == len(self.strides) == len(type_.box):
            raise VerifyException(f"{type_} has {len(type_.box)} dimensions")
        if int(self.strides.get_values()[-1]) != 1:
            raise VerifyException("elements of the innermost dimension follow each other")


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """Begins to copy `bytes` (4, 8, 16) to shared memory; with `valid` only so many, and zeros after them.

    nvgpu.device_async_copy %x[%i] to %shared[%j], %valid {bytes = 16 : i64} : memref<64xbf16> to memref<128xi8, 3>
    """

    name = "nvgpu.device_async_copy"
    source = operand_def(MemRefType)
    at = operand_def(IndexType)
    target = operand_def(MemRefType)
    to = operand_def(IndexType)
    valid = opt_operand_def(i32)
    bytes = prop_def(IntegerAttr.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$source `[` $at `]` `to` $target `[` $to `]` (`,` $valid^)? attr-dict `:` type($source) `to` type($target)"
    )

    def __init__(
        self, source: SSAValue, at: SSAValue, target: SSAValue, to: SSAValue, nbytes: int, valid: SSAValue | None
    ):
        super().__init__(operands=[source, at, target, to, valid], properties={"bytes": IntegerAttr(nbytes, i64)})

    def verify_(self) -> None:
        verify_shared(self.target)
        if self.bytes.value.data not in COPY_BYTES:
            raise VerifyException(f"copies {self.bytes.value.data} bytes, expected one of {COPY_BYTES}")


@irdl_op_definition
class AsyncGroupOp(IRDLOperation):
    """What this thread began to copy since the last time is one group."""

    name = "nvgpu.device_async_create_group"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class AsyncWaitOp(IRDLOperation):
    """Waits until at most `groups` of this thread are under way: `nvgpu.device_async_wait {groups = 1 : i64}`."""

    name = "nvgpu.device_async_wait"
    groups = prop_def(IntegerAttr.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, groups: int):
        super().__init__(properties={"groups": IntegerAttr(groups, i64)})


class _OnBarrier(IRDLOperation, ABC):
    """An op on the barrier at `at` of a buffer of barriers in shared memory."""

    barriers = operand_def(MemRefType)
    at = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        verify_shared(self.barriers)


@irdl_op_definition
class AsyncArriveOp(_OnBarrier):
    """Arrives at a barrier, once all that this thread began to copy is there: `nvgpu.device_async_arrive %b[%i]`."""

    name = "nvgpu.device_async_arrive"
    assembly_format = "$barriers `[` $at `]` attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, at: SSAValue):
        super().__init__(operands=[barriers, at])


@irdl_op_definition
class FenceProxyOp(IRDLOperation):
    """What threads have written to shared memory, and this one knows of, is there for products of warpgroups."""

    name = "nvgpu.fence.proxy.async"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class InitBarrierOp(_OnBarrier):
    """Each phase of the barrier ends after `count` arrivals: `nvgpu.mbarrier.init %b[%i] {count = 1 : i64}`."""

    name = "nvgpu.mbarrier.init"
    count = prop_def(IntegerAttr.constr(i64))
    assembly_format = "$barriers `[` $at `]` attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, at: SSAValue, count: int):
        super().__init__(operands=[barriers, at], properties={"count": IntegerAttr(count, i64)})


@irdl_op_definition
class FenceInitOp(IRDLOperation):
    """Makes barriers that were initialised known to the copy engine."""

    name = "nvgpu.fence.mbarrier.init"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class ArriveOp(_OnBarrier):
    """Arrives at a barrier: `nvgpu.mbarrier.arrive %b[%i] : memref<4xi64, 3>`."""

    name = "nvgpu.mbarrier.arrive"
    assembly_format = "$barriers `[` $at `]` attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, at: SSAValue):
        super().__init__(operands=[barriers, at])


@irdl_op_definition
class ArriveExpectOp(_OnBarrier):
    """Arrives, and lets the phase wait for so many bytes: `nvgpu.mbarrier.arrive.expect_tx %b[%i] {bytes = 1024}`."""

    name = "nvgpu.mbarrier.arrive.expect_tx"
    bytes = prop_def(IntegerAttr.constr(i64))
    assembly_format = "$barriers `[` $at `]` attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, at: SSAValue, nbytes: int):
        super().__init__(operands=[barriers, at], properties={"bytes": IntegerAttr(nbytes, i64)})


@irdl_op_definition
class TryWaitOp(_OnBarrier):
    """Whether the phase of a parity is over: `%over = nvgpu.mbarrier.try_wait.parity %b[%i], %p : memref<4xi64, 3>`."""

    name = "nvgpu.mbarrier.try_wait.parity"
    barriers = operand_def(MemRefType)
    at = operand_def(IndexType)
    parity = operand_def(IndexType)
    result = result_def(i1)
    assembly_format = "$barriers `[` $at `]` `,` $parity attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, at: SSAValue, parity: SSAValue):
        super().__init__(operands=[barriers, at, parity], result_types=[i1])


class _Named(IRDLOperation, ABC):
    """An op on one of the block's 16 barriers, by its number; `threads` of them meet there."""

    number = operand_def(IndexType)
    threads = prop_def(IntegerAttr.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$number attr-dict"

    def __init__(self, number: SSAValue, threads: int):
        super().__init__(operands=[number], properties={"threads": IntegerAttr(threads, i64)})

    def verify_(self) -> None:
        if self.threads.value.data < 1 or self.threads.value.data % WARP:
            raise VerifyException(f"{self.threads.value.data} threads are no whole warps")


@irdl_op_definition
class NamedSyncOp(_Named):
    """Warps meet: each waits until so many threads have come: `nvgpu.barrier.sync %n {threads = 256 : i64}`."""

    name = "nvgpu.barrier.sync"


@irdl_op_definition
class NamedArriveOp(_Named):
    """A warp comes to a barrier where others wait, and goes on: `nvgpu.barrier.arrive %n {threads = 256 : i64}`."""

    name = "nvgpu.barrier.arrive"


@irdl_op_definition
class TmaLoadOp(IRDLOperation):
    """One thread lets the copy engine bring a box; its bytes count at a barrier. Zeros come from outside the tensor.

    nvgpu.tma.async.load %map[%b, %r, %c] to %shared[%j], %bars[%s]
        : !nvgpu.tensormap<1x128x64xbf16, 128> to memref<49152xi8, 3>, memref<4xi64, 3>
    """

    name = "nvgpu.tma.async.load"
    map = operand_def(TensorMapType)
    corner = var_operand_def(IndexType)
    target = operand_def(MemRefType)
    to = operand_def(IndexType)
    barriers = operand_def(MemRefType)
    at = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$map `[` $corner `]` `to` $target `[` $to `]` `,` $barriers `[` $at `]` attr-dict "
        "`:` type($map) `to` type($target) `,` type($barriers)"
    )

    def __init__(
        self, map_: SSAValue, corner: Sequence[SSAValue], target: SSAValue, to: SSAValue, bars: SSAValue, at: SSAValue
    ):
        super().__init__(operands=[map_, corner, target, to, bars, at])

    def verify_(self) -> None:
        verify_shared(self.target)
        verify_shared(self.barriers)
        type_ = self.map.type
        assert isinstance(type_, TensorMapType)
        if len(self.corner) != len(type_.box):
            raise VerifyException(f"{type_} needs {len(type_.box)} coordinates, got {len(self.corner)}")
