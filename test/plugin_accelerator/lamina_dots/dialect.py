"""The dialect `dots`: its one instruction."""

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i8, i64
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure


@irdl_op_definition
class ProductOp(IRDLOperation):
    """Rows times columns, sums made bytes: `%y = dots.product %x, %w, %t {post = array<i64: 4, -128, 127>} : ...`.

    x is [M, K], w holds columns, [N, K], t a bias and the bits of a scale for each; `post` is zero point, least and
    greatest result.
    """

    name = "dots.product"
    x = operand_def(TensorType)
    w = operand_def(TensorType)
    t = operand_def(TensorType)
    post = prop_def(DenseArrayBase.constr(i64))
    y = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x `,` $w `,` $t attr-dict `:` type($x) `,` type($w) `,` type($t) `->` type($y)"

    def __init__(self, x: SSAValue, w: SSAValue, t: SSAValue, shape: list[int], post: tuple[int, int, int]):
        super().__init__(
            operands=[x, w, t],
            result_types=[TensorType(i8, shape)],
            properties={"post": DenseArrayBase.from_list(i64, post)},
        )


Dots = Dialect("dots", [ProductOp])
