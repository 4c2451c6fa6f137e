"""What `onnx` itself can tell of a model: types of intermediate values, bodies of its functions, newer forms.

All work on a copy without the weights, so that models beyond protobuf's 2 GiB pass.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ...compiler.diagnostics import LaminaError
from ...compiler.fork_server import apart_from_server
from ...compiler.workers import ProcessDied, apart
from .schemas import newest_opset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto
    from onnx.defs import OpSchema

_KEPT_ELEMENTS = 256  # smaller initialisers may be shapes, which inference reads


def infer_value_types(model: ModelProto, file: str) -> dict[str, TypeProto]:
    """The type of each named value, as declared or inferred; values nothing is known about are left out.

    Raises LaminaError when the declared types contradict each other.
    """
    from onnx import shape_inference

    inferred = without_weights(model)
    with suppress(ProcessDied):  # what is declared is left, which may do
        inferred = _made(partial(shape_inference.infer_shapes, inferred, data_prop=True), "infer shapes", file)
    types: dict[str, TypeProto] = {}
    _collect(inferred.graph, types)
    return types


def check_types(model: ModelProto) -> None:
    """Raises LaminaError with what ONNX says of types and shapes that do not fit."""
    from onnx import shape_inference

    def check() -> bytes:
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        return b""

    with suppress(ProcessDied):  # then ONNX has nothing to say
        apart(partial(_told, _faults(), check), "infer shapes")


def check_node(
    schema: OpSchema,
    node: NodeProto,
    types: Mapping[str, TypeProto],
    values: Mapping[str, TensorProto],
    opsets: Sequence[OperatorSetIdProto],
) -> None:
    """Raises LaminaError with what ONNX says of a node whose inputs have these types and, where known, values."""
    from onnx import shape_inference

    def check() -> bytes:
        shape_inference.infer_node_outputs(schema, node, dict(types), dict(values), opset_imports=list(opsets))
        return b""

    apart(partial(_told, _faults(), check), "infer shapes")


def inline_functions(model: ModelProto, file: str) -> ModelProto:
    """A copy of `model` without weights whose model-local functions are expanded where they are called."""
    from onnx import inliner

    expand = partial(inliner.inline_local_functions, without_weights(model))
    return _made(expand, "expand the model's functions", file)


def upgraded(model: ModelProto, file: str) -> ModelProto:
    """`model` in the newest opset of ai.onnx; other domains stay as they are."""
    from onnx import version_converter

    newest = newest_opset()
    convert = partial(version_converter.convert_version, without_weights(model), newest)
    result = _made(convert, f"convert to opset {newest}", file)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for tensor in result.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL and tensor.name in weights:
            tensor.CopyFrom(weights[tensor.name])
    return result


def _made(work: Callable[[], ModelProto], task: str, file: str) -> ModelProto:
    """What a function of `onnx` makes of a model. Raises LaminaError, in which `file` and `task` stand."""
    from onnx import ModelProto

    try:
        return ModelProto.FromString(apart_from_server(partial(_told, _faults(), partial(_serialized, work)), task))
    except ProcessDied as error:
        raise ProcessDied(error.message, where=file) from error
    except LaminaError as error:
        raise LaminaError(f"cannot {task}: {error.message}", where=file) from error


def _serialized(work: Callable[[], ModelProto]) -> bytes:
    return work().SerializeToString()


def _faults() -> tuple[type[Exception], ...]:
    """What functions of `onnx` raise for models that are not right."""
    from google.protobuf.message import DecodeError, EncodeError
    from onnx import checker, shape_inference, version_converter

    told = (checker.ValidationError, shape_inference.InferenceError, version_converter.ConvertError)
    return (*told, DecodeError, EncodeError, RuntimeError, ValueError, LookupError)


def _told(faults: tuple[type[Exception], ...], work: Callable[[], bytes]) -> bytes:
    """What functions of `onnx` give, which are to run in a process of their own: models that are not right crash some.

    Raises LaminaError with what they say; ProcessDied where they find no memory: what reads beside its arrays crashes
    or, by what is there, asks for more than there is.
    """
    try:
        return work()
    except MemoryError as error:
        raise ProcessDied("onnx asked for more memory than there is") from error
    except faults as error:
        text = re.sub(r"\(op_type:[^)]*\):?|\[\w+Error\]|Inference error\(s\):", "", str(error))
        raise LaminaError(" ".join(text.split())) from error


def without_weights(model: ModelProto) -> ModelProto:
    """A copy whose large initialisers keep name, type and shape only."""
    from onnx import ModelProto, TensorProto

    copy = ModelProto()
    for field, value in model.ListFields():
        if field.name == "graph":
            continue
        if field.is_repeated:
            getattr(copy, field.name).extend(value)
        else:
            setattr(copy, field.name, value)
    for field, value in model.graph.ListFields():
        if field.name == "initializer":
            continue
        if field.is_repeated:
            getattr(copy.graph, field.name).extend(value)
        else:
            setattr(copy.graph, field.name, value)
    for tensor in model.graph.initializer:
        count = 1
        for dim in tensor.dims:
            count *= dim
        if count <= _KEPT_ELEMENTS and tensor.data_location != TensorProto.EXTERNAL:
            copy.graph.initializer.append(tensor)
            continue
        stripped = copy.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        stripped.data_location = TensorProto.EXTERNAL
        stripped.external_data.add(key="location", value="stripped")
    return copy


def _collect(graph: GraphProto, types: dict[str, TypeProto]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        # an output that is an input, too, is often declared without its shape
        if info.type.WhichOneof("value") and (info.name not in types or info.type.tensor_type.HasField("shape")):
            types[info.name] = info.type
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _collect(attribute.g, types)
