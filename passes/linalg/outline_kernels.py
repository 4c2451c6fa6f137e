"""linalg-outline-kernels: groups of ops become functions, @main only calls them.

before:
    func.func public @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tensor.empty() : tensor<4x8xf32>
      %y = linalg.generic ... ins(%x) outs(%0) { math.exp }
      func.return %y
after:
    func.func public @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tensor.empty() : tensor<4x8xf32>
      %y = func.call @kernel_0(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      func.return %y
    func.func private @kernel_0(%x: tensor<4x8xf32>, %dst: tensor<4x8xf32>) -> tensor<4x8xf32>
        attributes {lamina.kernel = "loops"} { ... }

The last arguments of a kernel are the destinations of its results. What a call gives for one is a `tensor.empty`, or
the old value where the kernel changes a part of it (`tensor.insert_slice`, a loop that inserts). Constants, views
(collapse_shape, expand_shape) and structured control flow stay in @main; what a region of the latter holds is outlined
too. With `roundings` the kernel of a contraction whose result is read as it is by some, and rounded by others, writes
both; with `pools` that of one that goes by rows ("pool") holds what is around its image; with `columns` that of a
reduction over planes all that goes over the same planes; with `slices` one that goes over a slice element by element
takes what it is a slice of. Code for processors does all of it.
A call's location is that of all ops it stands for. What is a kernel, and why, is in `grouping`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    LocationAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.locations import fuse
from ...dialects.linalg import FillOp, GenericOp, WinogradOp, YieldOp
from ...dialects.linalg.depthwise import match_depthwise
from ...dialects.linalg.pool import match_pool
from ...dialects.linalg_ext import AttentionOp, MatmulNBitsOp
from ...dialects.scf import ForOp
from ...dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp, InsertOp, InsertSliceOp, PadOp
from .grouping import Group, Plan, is_elementwise, is_free, is_movement, is_sinkable, operands_of, plan_groups

KERNEL = "lamina.kernel"


@dataclass(frozen=True)
class OutlineKernels(ModulePass):
    """Moves computations on tensors into kernels; with `roundings` contractions also write what others read rounded."""

    name = "linalg-outline-kernels"

    roundings: bool = False
    pools: bool = False
    columns: bool = False
    slices: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = _Outliner(op, self.roundings, self.pools, self.columns, self.slices)
        for function in [f for f in op.ops if isinstance(f, func.FuncOp)]:
            if KERNEL not in function.attributes and function.body.blocks:
                _own_results(function)
                outliner.region(function.body)


def _own_results(function: func.FuncOp) -> None:
    """Gives each returned value a place of its own: copies arguments, constants and values returned twice."""
    terminator = function.body.block.last_op
    if not isinstance(terminator, func.ReturnOp):
        return
    seen: set[SSAValue] = set()
    for i, value in enumerate(terminator.operands):
        root = value
        while isinstance(root.owner, CollapseShapeOp | ExpandShapeOp):
            root = root.owner.src
        if not isinstance(value.type, TensorType):
            continue
        if root in seen or isinstance(root, BlockArgument) or isinstance(root.owner, arith.ConstantOp | EmptyOp):
            terminator.operands[i] = _copy_before(terminator, value, value.type)
        seen.add(root)


def _copy_before(op: Operation, value: SSAValue, type_: TensorType[Attribute]) -> SSAValue:
    rank = type_.get_num_dims()
    identity = AffineMap.identity(rank)
    block = Block(arg_types=[type_.element_type] * 2)
    block.add_op(YieldOp(block.args[0]))
    empty = EmptyOp([], type_)
    copy = GenericOp.of([value], [empty.tensor], [identity, identity], ["parallel"] * rank, Region(block))
    for new in (empty, copy):
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
    return copy.res[0]


@dataclass
class _Outliner:
    module: ModuleOp
    roundings: bool
    pools: bool
    columns: bool
    slices: bool
    count: int = 0
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.taken = {f.sym_name.data for f in self.module.ops if isinstance(f, func.FuncOp)}

    def region(self, region: Region) -> None:
        for block in region.blocks:
            plan = plan_groups(block, self.roundings, self.pools, self.columns, self.slices)
            for op in block.ops:
                if op not in plan.group_of and op.name.startswith("scf."):
                    for inner in op.regions:
                        self.region(inner)
            self.block(block, plan)

    def block(self, block: Block, plan: Plan) -> None:
        """Puts the block's ops and the calls in an order where definitions come first."""
        terminator = block.last_op
        order = _topological(block, plan)
        for node in order:
            if isinstance(node, Group):
                self.kernel(node, block, plan.views)
            elif node is not terminator:
                node.detach()
                block.add_op(node)
        if terminator is not None:
            terminator.detach()
            block.add_op(terminator)
        op = block.last_op
        while op is not None:
            before = op.prev_op
            if (is_sinkable(op) or is_free(op) or op in plan.views) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
            op = before

    def fresh_name(self) -> str:
        name = f"kernel_{self.count}"
        self.count += 1
        return self.fresh_name() if name in self.taken else name

    def kernel(self, group: Group, block: Block, views: Set[Operation]) -> None:
        """Makes one function of a group and appends the call to `block`. `views` it takes slice by slice."""
        members = set(group.members)
        escaping = [
            r
            for op in group.members
            for r in op.results
            if any(_top(use.operation, block) not in members for use in r.uses)
        ]
        location = fuse(op.location for op in group.members)
        body = _Body(Block(), location, views)
        for op in group.members:
            body.take(op)
        if group.accumulates:
            _accumulate_in_place(body.block, set(escaping))
        types = [cast("TensorType[Attribute]", r.type) for r in escaping]
        empties = [EmptyOp([], t) for t in types]
        written: list[SSAValue] = [empty.tensor for empty in empties]
        for i, result in enumerate(escaping):
            destination = body.block.insert_arg(result.type, len(body.block.args))
            destination.name_hint = "dst"
            if (old := _changed(result)) in body.arguments.values():
                written[i] = body.replace(cast(BlockArgument, old), destination)
            else:
                _write_into(result, destination)
        inputs = list(body.arguments)
        name = self.fresh_name()
        returned = func.ReturnOp(*escaping)
        returned.location = location
        body.block.add_op(returned)
        call_type = FunctionType.from_lists([*(v.type for v in inputs), *types], types)
        kernel = func.FuncOp(name, call_type, Region(body.block), visibility="private")
        kernel.attributes[KERNEL] = StringAttr(_kind(group, self.pools))
        empties = [empty for empty in empties if empty.tensor in written]
        call = func.CallOp(name, [*inputs, *written], types)
        for new in (kernel, call, *empties):
            new.location = location
        block.add_ops([*empties, call])
        for old, new in zip(escaping, call.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_uses_with_if(new, lambda use: _top(use.operation, body.block) is None)
        self.module.body.block.add_op(kernel)


def _top(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that `op` is or lies in."""
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def _topological(block: Block, plan: Plan) -> list[Group | Operation]:
    """Groups and the other ops of the block, each after what it uses; otherwise in the order of the block."""
    order: list[Group | Operation] = []
    done: set[int] = set()
    for start in block.ops:
        stack: list[tuple[Group | Operation, bool]] = [(plan.group_of.get(start, start), False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in done and not ready:
                continue
            if ready:
                order.append(node)
                continue
            done.add(id(node))
            stack.append((node, True))
            members = node.members if isinstance(node, Group) else [node]
            for value in reversed([v for op in members for v in operands_of(op)]):
                owner = value.owner
                if isinstance(owner, Operation) and owner.parent is block:
                    needed = plan.group_of.get(owner, owner)
                    if needed is not node and id(needed) not in done:
                        stack.append((needed, False))
    return order


class _Body:
    """The block of a kernel being filled: ops move in, what they use from outside becomes arguments."""

    def __init__(self, block: Block, location: LocationAttr, views: Set[Operation]):
        self.block = block
        self.location = location
        self.views = views
        self.arguments: dict[SSAValue, BlockArgument] = {}
        self.shared: dict[SSAValue, SSAValue] = {}  # what is repeated here, but for what destinations begin as

    def take(self, op: Operation) -> None:
        """Moves `op` to the end of the block."""
        outside = set(operands_of(op))
        for nested in op.walk():
            for i, value in enumerate(nested.operands):
                if value in outside:
                    nested.operands[i] = self.inside(value)
        op.detach()
        self.block.add_op(op)

    def inside(self, value: SSAValue) -> SSAValue:
        """What stands for `value` in the kernel."""
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is self.block:
            return value
        if value in self.shared:
            return self.shared[value]
        if isinstance(owner, Operation) and (is_sinkable(owner) or owner in self.views):
            copy = owner.clone_without_regions() if not owner.regions else owner.clone()
            for i, operand in enumerate(owner.operands):
                copy.operands[i] = self.inside(operand)
            copy.location = owner.location
            self.block.add_op(copy)
            new = copy.results[value.index if hasattr(value, "index") else 0]  # pyright: ignore
            if not isinstance(value.type, TensorType) or owner in self.views:
                self.shared[value] = new
            return new
        if value not in self.arguments:
            argument = self.block.insert_arg(value.type, len(self.block.args))
            argument.name_hint = value.name_hint
            self.arguments[value] = argument
        return self.arguments[value]

    def replace(self, argument: BlockArgument, new: BlockArgument) -> SSAValue:
        """Lets `new` stand for what `argument`, which goes away, stood for; gives that."""
        [outside] = (value for value, inside in self.arguments.items() if inside is argument)
        argument.replace_all_uses_with(new)
        self.block.erase_arg(argument)
        del self.arguments[outside]
        return outside


def _accumulate_in_place(block: Block, escaping: set[SSAValue]) -> None:
    """Epilogues that write a fresh tensor of the accumulator's type update the accumulator instead."""
    for op in list(block.ops):
        if not isinstance(op, GenericOp) or not is_elementwise(op) or len(op.outputs) != 1:
            continue
        if not isinstance(op.outputs[0].owner, EmptyOp):
            continue
        for i, value in enumerate(op.inputs):
            produced = isinstance(value.owner, GenericOp | WinogradOp) and value.owner.parent is block
            alone = all(use.operation is op for use in value.uses) and list(op.inputs).count(value) == 1
            if produced and alone and value not in escaping and value.type == op.outputs[0].type:
                if op.maps[i] == op.maps[-1]:
                    fresh = op.outputs[0].owner
                    _update(op, i)
                    fresh.detach()
                    fresh.erase()
                break


def _update(op: GenericOp, index: int) -> None:
    """Drops input `index` and reads the output, which becomes that input, in its place."""
    body = op.body.block
    value = op.inputs[index]
    body.args[index].replace_all_uses_with(body.args[-1])
    body.erase_arg(body.args[index])
    inputs = [v for i, v in enumerate(op.inputs) if i != index]
    op.properties["indexing_maps"] = ArrayAttr([m for i, m in enumerate(op.indexing_maps) if i != index])
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs), 1])
    op.operands = [*inputs, value]


def _changed(result: SSAValue) -> SSAValue | None:
    """What a chain of insertions that ends in `result` begins with, where nothing but the chain reads it."""
    value = result
    while isinstance(owner := value.owner, InsertSliceOp | InsertOp | ForOp):
        value = owner.iter_args[cast(OpResult, value).index] if isinstance(owner, ForOp) else owner.dest
    return value if value is not result and value.type == result.type and value.has_one_use() else None


def _write_into(result: SSAValue, destination: SSAValue) -> None:
    """Lets the chain of outputs behind `result` begin at `destination` instead of at an empty tensor."""
    value = result
    while isinstance(owner := value.owner, Operation):
        if isinstance(owner, GenericOp | AttentionOp):
            value = owner.outputs[list(owner.results).index(value)]  # pyright: ignore
        elif isinstance(owner, FillOp | WinogradOp | MatmulNBitsOp):
            value = owner.output
        else:
            if isinstance(owner, EmptyOp) and owner.tensor.type == destination.type:
                owner.tensor.replace_all_uses_with(destination)
                owner.detach()
                owner.erase()
            return


def _goes_by_rows(op: GenericOp, group: Group) -> bool:
    """Whether an op is a pool that is less work by rows: with what is around its image, or for its windows."""
    pool = match_pool(op)
    return pool is not None and (pool.pays_by_columns or isinstance(group.members[0], PadOp))


def _kind(group: Group, pools: bool) -> str:
    if any(isinstance(op, GenericOp) and match_depthwise(op) for op in group.members):
        return "separable" if group.contraction else "depthwise"
    if group.contraction:
        return "contraction"
    if isinstance(group.members[0], WinogradOp):
        return "winograd"
    if any(isinstance(op, AttentionOp) for op in group.members):
        return "attention"
    if isinstance(group.members[0], MatmulNBitsOp):
        return "matmul_nbits"
    if pools and any(isinstance(op, GenericOp) and _goes_by_rows(op, group) for op in group.members):
        return "pool"
    return "copy" if all(is_movement(op) for op in group.members) else "loops"
