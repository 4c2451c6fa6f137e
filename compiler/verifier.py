"""Is a module well formed? Each op by its own definition, and every use dominated by its definition.

xDSL's `verify` checks ops one by one but never dominance, counts the blocks of a region once per terminator, and
prints the whole module with an error. Here one walk does all: it keeps the set of values visible at the point it
stands at, follows the dominator tree where a region has several blocks, and raises at the first fault. An op of
dialects whose ops look at nothing around them is as right as one that is equal but for its operands, of the same types:
that is remembered, as a definition takes ten times as long to check as to be found.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cache

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, ErasedSSAValue, Operation, OpResult, OpTraits, Region, SSAValue
from xdsl.traits import (
    HasAncestor,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import DiagnosticException

from .diagnostics import Diagnostic, LaminaError
from .dominance import dominator_tree
from .traits import class_traits, has, might_have

# What xDSL's definition of a call checks, but for its search through all functions at every call.
_CALL_WITHOUT_SEARCH = replace(CallOp.get_irdl_definition(), traits=OpTraits(lambda: ()))


_SELF_CONTAINED = ("affine.", "arith.", "dot.", "llvm.", "math.", "memref.", "vector.", "x86.")
_CONTEXT = (IsTerminator, SymbolOpInterface, SymbolUserOpInterface, HasParent, HasAncestor)  # what is around matters
_REMEMBERED = 1 << 13
_right: set[Hashable] = set()  # what was verified already, by all that its verification looks at


@cache
def _looks_around(cls: type[Operation]) -> bool:
    return not cls.name.startswith(_SELF_CONTAINED) or any(class_traits(cls, trait) for trait in _CONTEXT)


def _alike(op: Operation) -> Hashable | None:
    """What two ops must have in common for both to be right or wrong; None where that is more than what they hold."""
    if op.regions or _looks_around(type(op)):
        return None
    told = (*op.properties.items(), *op.attributes.items())
    if any(type(value) is DenseIntOrFPElementsAttr for _, value in told):  # may be large
        return None
    return type(op), tuple(v.type for v in op._operands), tuple(v.type for v in op.results), told  # pyright: ignore


def verify(op: Operation) -> None:
    """Checks `op` and all in it, in time linear in its size.

    Raises LaminaError at the first op that breaks its own definition, stands where it may not, or uses a value
    that does not dominate it.
    """
    _Walk().op(op)


class _Walk:
    def __init__(self) -> None:
        self.visible: set[int] = set()  # ids of the values that dominate the place the walk is at
        self.isolations: list[Operation] = []
        self.symbols: list[dict[str, Operation]] = []  # of the symbol tables the walk is inside of
        self.reachable = True

    def op(self, op: Operation) -> None:
        self.operands(op)
        if op._successors:  # pyright: ignore[reportPrivateUsage]
            self.successors(op)
        if op.regions:
            if has(op, IsolatedFromAbove):
                outer, self.visible = self.visible, set()
                self.isolations.append(op)
                self.regions(op)
                self.isolations.pop()
                self.visible = outer
            else:
                self.regions(op)
        try:
            self.definition(op)
        except DiagnosticException as error:
            raise LaminaError(str(error).strip(), where=op) from error
        except (AttributeError, AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
            # An op's own check tripped over something it did not expect: still the input's fault, and placed.
            raise LaminaError(f"cannot be verified: {error!r}", where=op) from error

    def definition(self, op: Operation) -> None:
        if type(op) is CallOp and self.symbols:
            _CALL_WITHOUT_SEARCH.verify(op)
            self.call(op)
        elif (key := _alike(op)) is None:
            op.verify_()
        elif key not in _right:
            op.verify_()
            if len(_right) == _REMEMBERED:
                _right.clear()
            _right.add(key)

    def call(self, op: CallOp) -> None:
        callee = self.symbols[-1].get(op.callee.string_value())
        if callee is None:
            raise LaminaError(f"calls {op.callee}, which does not exist", where=op)
        if not isinstance(callee, FuncOp):
            raise LaminaError(f"calls {op.callee}, which is no function", where=op)
        expected, got = callee.function_type, (tuple(op.arguments.types), tuple(op.result_types))
        if (expected.inputs.data, expected.outputs.data) != got:
            raise LaminaError(
                f"calls {op.callee} as ({_list(got[0])}) -> ({_list(got[1])})",
                where=op,
                notes=(Diagnostic.at("note", f"it is {expected}", callee),),
            )

    def operands(self, op: Operation) -> None:
        visible = self.visible
        for index, value in enumerate(op._operands):  # pyright: ignore[reportPrivateUsage]
            if id(value) not in visible:
                if isinstance(value, ErasedSSAValue):
                    raise LaminaError(f"operand #{index} is a value that was erased", where=op)
                if not isinstance(value, OpResult | BlockArgument):  # of a text: named before, and then only elsewhere
                    name = f" (%{value.name_hint})" if value.name_hint else ""
                    raise LaminaError(f"operand #{index}{name} is defined nowhere that it sees", where=op)
                if self.reachable:
                    raise self.not_dominated(op, index, value)

    def not_dominated(self, op: Operation, index: int, value: SSAValue) -> LaminaError:
        name = f" (%{value.name_hint})" if value.name_hint else ""
        owner = value.owner
        # A block has no place of its own: its argument has.
        place: Operation | Attribute = value.owner if isinstance(value, OpResult) else value.location  # pyright: ignore
        note = Diagnostic.at("note", "see the operand's definition here", place)
        isolated = self.isolations[-1] if self.isolations else None
        if isolated is not None and not isolated.is_ancestor(owner):
            return LaminaError(
                f"uses operand #{index}{name} from outside '{isolated.name}', which is isolated from above",
                where=op,
                notes=(note,),
            )
        return LaminaError(f"operand #{index}{name} does not dominate this use", where=op, notes=(note,))

    def successors(self, op: Operation) -> None:
        block = op.parent
        if block is None or block.parent is None:
            raise LaminaError("has successors but is in no region", where=op)
        if block.last_op is not op:
            raise LaminaError("has successors, so it must end its block", where=op)
        for successor in op.successors:
            if successor.parent is not block.parent:
                raise LaminaError("branches to a block of another region", where=op)

    def regions(self, op: Operation) -> None:
        if not has(op, SymbolTable):
            self.each_region(op)
            return
        names = ((inner.get_attr_or_prop("sym_name"), inner) for region in op.regions for inner in _ops_of(region))
        self.symbols.append({name.data: inner for name, inner in names if isinstance(name, StringAttr)})
        self.each_region(op)
        self.symbols.pop()

    def each_region(self, op: Operation) -> None:
        no_terminator = might_have(op, NoTerminator)
        for region in op.regions:
            first = region.first_block
            if first is None:
                continue
            if isinstance(op, ModuleOp):
                self.module_body(op, first)
            single = first is region.last_block
            for block in region.blocks:
                if block.parent is not region:
                    raise LaminaError("has a block whose parent is another region", where=op)
                self.terminator(op, block, may_lack=single and no_terminator)
            if not single:
                self.graph(region)
            else:
                defined = self.block(first, graph=isinstance(op, ModuleOp))
                self.visible.difference_update(defined)

    def module_body(self, op: ModuleOp, block: Block) -> None:
        if block.args:
            raise LaminaError("the body of a module takes no arguments", where=op)
        if block.last_op is not None and has(block.last_op, IsTerminator):
            raise LaminaError("ends its block, and the body of a module has no end", where=block.last_op)

    def terminator(self, op: Operation, block: Block, *, may_lack: bool) -> None:
        last = block.last_op
        if may_lack:
            return
        if last is None:
            raise LaminaError("has an empty block: expected at least a terminator", where=op)
        if not might_have(last, IsTerminator):
            raise LaminaError("ends its block but is not a terminator", where=last)

    def block(self, block: Block, *, graph: bool = False) -> list[int]:
        """Checks the ops of `block` in order and returns the values it made visible, which stay so."""
        defined = [id(arg) for arg in block.args]
        self.visible.update(defined)
        if graph:  # the region of a module has no order: everything in it is visible from the start
            defined += [id(result) for op in block.ops for result in op.results]
            self.visible.update(defined)
        for op in block.ops:
            if op.parent is not block:
                raise LaminaError("stands in a block that is not its parent", where=op)
            self.op(op)
            for result in op.results:
                self.visible.add(id(result))
                defined.append(id(result))
        return defined

    def graph(self, region: Region) -> None:
        """Checks a region of several blocks, in an order in which dominating blocks come first."""
        children = dominator_tree(region)
        entry = region.first_block
        assert entry is not None
        # Each stack entry is a block to enter, or the values to forget when its subtree is done.
        stack: list[Block | list[int]] = [entry]
        while stack:
            top = stack.pop()
            if isinstance(top, list):
                self.visible.difference_update(top)
                continue
            stack.append(self.block(top))
            stack.extend(reversed(children[top]))
        unreachable = [block for block in region.blocks if block not in children]
        if unreachable:
            before, self.reachable = self.reachable, False
            for block in unreachable:
                self.visible.difference_update(self.block(block))
            self.reachable = before


def _ops_of(region: Region) -> list[Operation]:
    return [op for block in region.blocks for op in block.ops]


def _list(types: tuple[Attribute, ...]) -> str:
    return ", ".join(str(type_) for type_ in types)
