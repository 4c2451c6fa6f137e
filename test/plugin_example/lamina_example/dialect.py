"""The dialect `example`: one op."""

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import (
    AnyOf,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure


@irdl_op_definition
class CubeOp(IRDLOperation):
    """The third power of every element: `%y = example.cube %x : tensor<4xf32>`."""

    name = "example.cube"
    T: ClassVar = VarConstraint("T", AnyOf([AnyFloatConstr, TensorType.constr(AnyFloatConstr)]))

    x = operand_def(T)
    y = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x)"


Example = Dialect("example", [CubeOp])
