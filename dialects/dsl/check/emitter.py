"""Where ops go in instance mode: a module, and the block that is being filled."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from ....compiler.context import LaminaContext
from ....compiler.locations import locate
from ..language.tree import Node


class Emitter:
    """Inserts ops at the end of the current block."""

    def __init__(self, context: LaminaContext, module: ModuleOp):
        self.context = context
        self.module = module
        self.block: Block = module.body.block
        self._files: dict[str, StringAttr] = {}

    def insert(self, op: Operation, node: Node) -> None:
        """Puts `op` at the end of the current block; it and all in it get the location of `node`."""
        locate(op, self.location(node))
        self.block.add_op(op)

    def location(self, node: Node) -> LocationAttr:
        """The place of a node."""
        span = node.span
        name = self._files.setdefault(span.file, StringAttr(span.file))
        return FileLineColLoc.new((name, IntAttr(span.line), IntAttr(span.column)))

    @contextmanager
    def inside(self, block: Block) -> Generator[Block]:
        """Fills `block` for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer
