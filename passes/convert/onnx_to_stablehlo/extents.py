"""How results whose size data decide tell it: by further results, which say whose sizes they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, i64
from xdsl.ir import Attribute, SSAValue

from ....compiler.program import EXTENTS


def told_sizes(
    extents: Mapping[SSAValue, Mapping[int, SSAValue]], results: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[DictionaryAttr]]:
    """The further results and their attributes; `extents` has the true sizes of values, by dimension."""
    told: dict[SSAValue, list[Attribute]] = {}
    for i, result in enumerate(results):
        for dimension, size in extents.get(result, {}).items():
            told.setdefault(size, []).append(DenseArrayBase.from_list(i64, [i, dimension]))
    return list(told), [DictionaryAttr({EXTENTS: ArrayAttr(pairs)}) for pairs in told.values()]
