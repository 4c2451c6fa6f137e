"""Batch normalisation: inference, training and derivative."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from . import shapes
from .attributes import epsilon_attr, int_attr
from .shapes import fail
from .syntax import TENSOR, StableHLOOp, tensor_operand

Value = SSAValue | Operation


@irdl_op_definition
class BatchNormInferenceOp(StableHLOOp):
    """Normalises with given mean and variance per feature (C1-C7)."""

    name = "stablehlo.batch_norm_inference"
    operand = tensor_operand()
    scale = tensor_operand()
    offset = tensor_operand()
    mean = tensor_operand()
    variance = tensor_operand()
    result = result_def(TENSOR)
    epsilon = prop_def(FloatAttr)
    feature_index = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def __init__(
        self,
        operand: Value,
        scale: Value,
        offset: Value,
        mean: Value,
        variance: Value,
        *,
        epsilon: float,
        feature_index: int,
    ):
        properties = {"epsilon": epsilon_attr(epsilon), "feature_index": int_attr(feature_index)}
        self._build([operand, scale, offset, mean, variance], properties)

    def infer(self) -> Sequence[Attribute] | None:
        features = {
            "scale": (self.scale.type, "C3"),
            "offset": (self.offset.type, "C4"),
            "mean": (self.mean.type, "C5"),
            "variance": (self.variance.type, "C6"),
        }
        shapes.batch_norm(self.operand.type, features, self.feature_index.value.data)
        return (self.operand.type,)


@irdl_op_definition
class BatchNormTrainingOp(StableHLOOp):
    """Normalises with the mean and variance of the batch, which are results too (C1-C7)."""

    name = "stablehlo.batch_norm_training"
    operand = tensor_operand()
    scale = tensor_operand()
    offset = tensor_operand()
    output = result_def(TENSOR)
    batch_mean = result_def(TENSOR)
    batch_var = result_def(TENSOR)
    epsilon = prop_def(FloatAttr)
    feature_index = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, scale: Value, offset: Value, *, epsilon: float, feature_index: int):
        properties = {"epsilon": epsilon_attr(epsilon), "feature_index": int_attr(feature_index)}
        self._build([operand, scale, offset], properties)

    def infer(self) -> Sequence[Attribute] | None:
        features = {"scale": (self.scale.type, "C3"), "offset": (self.offset.type, "C4")}
        feature = shapes.batch_norm(self.operand.type, features, self.feature_index.value.data)
        return (self.operand.type, feature, feature)


@irdl_op_definition
class BatchNormGradOp(StableHLOOp):
    """The derivatives of batch_norm_training by operand, scale and offset (C1-C5)."""

    name = "stablehlo.batch_norm_grad"
    operand = tensor_operand()
    scale = tensor_operand()
    mean = tensor_operand()
    variance = tensor_operand()
    grad_output = tensor_operand()
    grad_operand = result_def(TENSOR)
    grad_scale = result_def(TENSOR)
    grad_offset = result_def(TENSOR)
    epsilon = prop_def(FloatAttr)
    feature_index = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def __init__(
        self,
        operand: Value,
        scale: Value,
        mean: Value,
        variance: Value,
        grad_output: Value,
        *,
        epsilon: float,
        feature_index: int,
    ):
        properties = {"epsilon": epsilon_attr(epsilon), "feature_index": int_attr(feature_index)}
        self._build([operand, scale, mean, variance, grad_output], properties)

    def infer(self) -> Sequence[Attribute] | None:
        features = {
            "scale": (self.scale.type, "C5"),
            "mean": (self.mean.type, "C4"),
            "variance": (self.variance.type, "C4"),
        }
        feature = shapes.batch_norm(self.operand.type, features, self.feature_index.value.data)
        if self.grad_output.type != self.operand.type:
            fail(
                f"grad_output must have the type of operand, {self.operand.type}, got {self.grad_output.type}",
                "C3",
            )
        return (self.operand.type, feature, feature)
