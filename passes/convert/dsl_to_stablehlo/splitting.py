"""An index that a product is read at by blocks, as in `x[n, (o // 2) * C + c, p + r]`, becomes two: block and place.

With o = 2 * g + t the subscript is linear, and g is a group of the contraction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ....compiler.weights import Array
from .blocks import Blocks
from .forms import Index, Linear, Table
from .lifting import Lifted, Lifter
from .windows import accesses_of


def with_blocks(
    lifter: Lifter,
    values: Sequence[SSAValue],
    reduced: Collection[Index],
    contract: Callable[[Lifter], Lifted | None],
) -> Lifted | None:
    """What `contract` makes, given indices instead of those that `values` are read at by blocks."""
    found = _block(lifter, values, reduced)
    if found is None:
        return contract(lifter)
    index, size = found
    blocks = Blocks.of(index, size)
    bound: dict[SSAValue, Linear] = {}
    for argument, form in lifter.forms.bound.items():
        new = blocks.rewritten(form)
        assert isinstance(new, Linear)
        bound[argument] = new
    total = with_blocks(lifter.fork(bound=bound), values, reduced, contract)
    return None if total is None else blocks.merged(lifter, total)


def _block(lifter: Lifter, values: Sequence[SSAValue], reduced: Collection[Index]) -> tuple[Index, int] | None:
    """An index that stays, and the length of the blocks in which subscripts of `values` see it."""
    for value in values:
        for access in accesses_of(lifter, value):
            for subscript in access.subscripts:
                form = lifter.form(subscript)
                for index in form.indices if isinstance(form, Table) else ():
                    assert isinstance(form, Table)
                    size = 0 if index in reduced else _length(np.moveaxis(form.values, form.indices.index(index), 0))
                    if size > 1:
                        return index, size
    return None


def _length(values: Array) -> int:
    """How long the equal blocks are that `values` consist of along the first axis; 0 where they do not."""
    changes = np.flatnonzero((values[1:] != values[:-1]).reshape(len(values) - 1, -1).any(axis=1)) + 1
    size = int(changes[0]) if len(changes) else 0
    if not size or len(values) % size or (changes % size).any():
        return 0
    return size
