"""Attention, softmax(scores of queries and keys) times values, as one structured op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    ContainerType,
    IntegerAttr,
    ShapedType,
    TensorType,
    UnitAttr,
    f32,
    i64,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..linalg.effects import StructuredOpEffects


@irdl_op_definition
class YieldOp(IRDLOperation):
    """What a body makes of a score: `"linalg_ext.yield"(%s) : (f32) -> ()`."""

    name = "linalg_ext.yield"

    value = operand_def()
    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class AttentionOp(LinalgStructuredOperation):
    """Softmax over the keys of what the body makes of each score, times the values.

        %o = "linalg_ext.attention"(%q, %k, %v, %mask, %init)
            <{causal = 0 : i64, indexing_maps = [#q, #k, #v, #mask, #o], operandSegmentSizes = array<i32: 4, 1>}> ({
        ^bb0(%score: f32, %m: f32):
          %s = arith.addf %score, %m : f32
          "linalg_ext.yield"(%s) : (f32) -> ()
        }) : (tensor<12x64x32xf32>, ...) -> tensor<12x64x32xf32>

    The loops are (batch..., m, k1, k2, n) as in IREE's op of this name: queries m, depth k1, keys k2, columns
    of the values n. The maps are those of query (batch..., m, k1), key (batch..., k2, k1), value (batch..., k2, n), of
    what else the body reads (batch..., m, k2), and of the output (batch..., m, n). With `causal`, query m sees the
    keys up to m + causal only: the others are not read. With `zero_undefined`, a row whose softmax is not a number
    (no key is seen, say) gives zeros instead.

    Query, key and value may be of 16 bits: scores and sums are f32 all the same, and weights are rounded before values
    are summed. Then what else the body reads may be of as many bits, which it widens, and so may the output.

    C1: query, key and value come first, one output last, a map for each operand. Query, key and value are of one type,
    of 16 or 32 bits, all others of that or of f32. C2: a map's results
    are loops, each once, or 0. C3: each operand is over the loops named above. C4: the body takes a score of f32 and an
    element of each further input, and yields one f32. C5: `causal` is not negative, so that each query sees a key.
    """

    name = "linalg_ext.attention"

    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    causal = opt_prop_def(IntegerAttr[I64])
    zero_undefined = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(StructuredOpEffects())

    @staticmethod
    def of(
        inputs: Sequence[SSAValue],
        output: SSAValue,
        maps: Sequence[AffineMap],
        body: Region,
        *,
        causal: int | None = None,
        zero_undefined: bool = False,
    ) -> AttentionOp:
        """The op on tensors or buffers."""
        return AttentionOp(
            operands=[inputs, [output]],
            result_types=[[output.type] if isinstance(output.type, TensorType) else []],
            properties={
                "indexing_maps": ArrayAttr([AffineMapAttr(m) for m in maps]),
                "causal": None if causal is None else IntegerAttr(causal, i64),
                "zero_undefined": UnitAttr() if zero_undefined else None,
            },
            regions=[body],
        )

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        return self.indexing_maps

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        parallel, reduction = IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()
        return ArrayAttr([*[parallel] * (self.loops - 3), reduction, reduction, parallel])

    @property
    def maps(self) -> tuple[AffineMap, ...]:
        """The indexing maps, of the output last."""
        return tuple(attr.data for attr in self.indexing_maps)

    @property
    def loops(self) -> int:
        """How many loops there are: the batch's and four more."""
        return self.maps[0].num_dims

    @property
    def seen(self) -> int | None:
        """`causal` as a number."""
        return None if self.causal is None else self.causal.value.data

    def ranges(self) -> tuple[int, ...]:
        """The extent of every loop; 1 for one that no operand is indexed by."""
        found: dict[int, int] = {}
        for operand, map_ in zip(self.operands, self.maps, strict=True):
            for expr, size in zip(map_.results, cast(ShapedType, operand.type).get_shape(), strict=True):
                if isinstance(expr, AffineDimExpr):
                    found[expr.position] = size
        return tuple(found.get(d, 1) for d in range(self.loops))

    def verify_(self) -> None:
        if len(self.inputs) < 3 or len(self.outputs) != 1 or len(self.maps) != len(self.operands):
            raise VerifyException("expected query, key, value and one output, each with a map (C1)")
        elements = [cast("ContainerType[Attribute]", operand.type).get_element_type() for operand in self.operands]
        if not isinstance(elements[0], AnyFloat) or elements[0].bitwidth > 32 or elements[1:3] != elements[:1] * 2:
            raise VerifyException("expected query, key and value of one float type, not of 64 bits (C1)")
        if any(element not in (f32, elements[0]) for element in elements[3:]):
            raise VerifyException("expected other operands of f32, or of the type of query, key and value (C1)")
        m, k1, k2, n = range(self.loops - 4, self.loops)
        outside = [{k2, n}, {m, n}, {m, k1}, *[{k1, n}] * (len(self.inputs) - 3), {k1, k2}]
        for operand, map_, others in zip(self.operands, self.maps, outside, strict=True):
            dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
            zeros = [e for e in map_.results if isinstance(e, AffineConstantExpr) and e.value == 0]
            rank = len(cast(ShapedType, operand.type).get_shape())
            if len(dims) + len(zeros) != rank or len(map_.results) != rank or len(set(dims)) != len(dims):
                raise VerifyException(f"expected the results of {map_} to be loops, each once, or 0 (C2)")
            if others.intersection(dims) or map_.num_dims != self.loops:
                raise VerifyException(f"{map_} is over other loops than its operand's (C3)")
        block = self.body.block
        arguments = [argument.type for argument in block.args]
        yielded = [value.type for value in block.last_op.operands] if block.last_op is not None else []
        if arguments != [f32, *elements[3:-1]] or yielded != [f32]:
            raise VerifyException("expected a body of a score and each further input to one f32 (C4)")
        if self.seen is not None and self.seen < 0:
            raise VerifyException("causal is negative: the first query would see no key (C5)")
