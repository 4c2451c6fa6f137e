"""Whether each operator runs in each version and type: ONNX's own test models, rewritten, compiled for cpu and run."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper

import lamina

sys.path.insert(0, str(Path(__file__).parent))
import onnx_random

Array = Any


@dataclass
class Row:
    """An operator in one version: types that agree with a peer, that no peer runs, that differ, that are refused."""

    works: list[str] = field(default_factory=list[str])
    runs: list[str] = field(default_factory=list[str])
    differs: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def told(self) -> dict[str, str | dict[str, str]]:
        """As the table has it."""
        kinds = {"works": self.works, "runs": self.runs, "differs": self.differs}
        told: dict[str, str | dict[str, str]] = {name: " ".join(found) for name, found in kinds.items() if found}
        return {**told, "refused": self.refused} if self.refused else told


def smallest_cases() -> dict[tuple[str, str], onnx_random.Case]:
    """For each operator its test model of one node with the least data."""
    found: dict[tuple[str, str], onnx_random.Case] = {}
    for case in onnx_random.cases():
        node = case.model.graph.node[0]
        if len(case.model.graph.node) > 1 or any(a.HasField("g") for a in node.attribute):
            continue
        if any(not isinstance(x, np.ndarray) for x in case.inputs):
            continue
        known = found.get((node.domain, node.op_type))
        if known is None or _elements(case) < _elements(known):
            found[node.domain, node.op_type] = case
    return found


def _elements(case: onnx_random.Case) -> tuple[bool, int]:
    return not case.inputs, sum(x.size for x in case.inputs)


def variable(schema: Any) -> tuple[str, list[str]]:
    """The type variable of an operator's data and its types; "" and the one type there is, where nothing varies."""
    varying = [f for f in schema.inputs if not f.type_str.startswith("tensor(") and len(f.types) > 1]
    formal = max(varying, key=lambda f: len(f.types), default=None)
    if formal is None:
        return "", ["as given"]
    return formal.type_str, sorted(t[7:-1] for t in formal.types if t.startswith("tensor("))


def rewritten(case: onnx_random.Case, schema: Any, kind: str) -> tuple[ModelProto, list[Array]] | None:
    """The model in another version and type, with its inputs; what steers it is constant. None where it has no form."""
    name, _ = variable(schema)
    newest = defs.get_schema(schema.name, max_inclusive_version=10**6, domain=schema.domain)
    model = ModelProto()
    model.CopyFrom(case.model)
    node, steering = model.graph.node[0], onnx_random.steering(case.model)
    given = dict(zip([info.name for info in case.model.graph.input], case.inputs, strict=True))
    kept = list(node.input)
    last = schema.inputs[-1] if schema.inputs else None
    variadic = last is not None and "Variadic" in str(last.option)
    for place in range(len(kept) - 1, -1, -1):  # what was an attribute once becomes one
        if place < len(schema.inputs) or variadic:
            continue
        formal, value = newest.inputs[place].name, given.get(kept[place])
        if formal in schema.attributes and value is not None:
            single = schema.attributes[formal].type in (defs.OpSchema.AttrType.INT, defs.OpSchema.AttrType.FLOAT)
            values = value.reshape(-1).tolist()
            node.attribute.append(helper.make_attribute(formal, values[0] if single else values))
        del kept[place]
    del node.input[:]
    node.input.extend(kept)
    attributes = [a for a in node.attribute if a.name in schema.attributes]
    del node.attribute[:]
    node.attribute.extend(attributes)
    if any(a.required and a.name not in {b.name for b in attributes} for a in schema.attributes.values()):
        return None
    del model.graph.input[:], model.graph.output[:]
    inputs: list[Array] = []
    for place, own in enumerate(kept):
        if not own:
            continue
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        array = _of_kind(given[own], kind) if name and formal.type_str == name else given[own]
        if own in steering:
            model.graph.initializer.append(numpy_helper.from_array(array, own))
        elif own not in [info.name for info in model.graph.input]:
            code = TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
            model.graph.input.append(helper.make_tensor_value_info(own, code, array.shape))
            inputs.append(array)
    for place, own in enumerate(node.output):
        if own:
            formal = schema.outputs[min(place, len(schema.outputs) - 1)]
            code = next(info.type.tensor_type.elem_type for info in case.model.graph.output if info.name == own)
            code = getattr(TensorProto, kind.upper()) if name and formal.type_str == name else code
            model.graph.output.append(helper.make_tensor_value_info(own, code, None))
    for entry in model.opset_import:
        if entry.domain == schema.domain:
            entry.version = max(schema.since_version, 7 if not schema.domain else 1)
    return model, inputs


def _of_kind(x: Array, kind: str) -> Array:
    if kind == "string":
        return np.array([str(value) for value in x.reshape(-1)], dtype=object).reshape(x.shape)
    code = getattr(TensorProto, kind.upper())
    if x.dtype == object:
        return np.zeros(x.shape, helper.tensor_dtype_to_np_dtype(code))
    with np.errstate(all="ignore"):
        return x.astype(helper.tensor_dtype_to_np_dtype(code))


def tried(case: onnx_random.Case, schema: Any) -> Row:
    """The types of one version, each compiled for cpu and run, all in one model where that goes."""
    row = Row()
    forms: dict[str, tuple[ModelProto, list[Array]]] = {}
    for kind in variable(schema)[1]:
        try:
            form = rewritten(case, schema, kind)
        except (TypeError, ValueError, OverflowError) as error:  # NumPy cannot make the shipped values of this type
            row.refused[kind] = f"no test data: {error}"
            continue
        if form is None:
            row.refused[kind] = "no test model of this version"
        else:
            forms[kind] = form
    for kind, answer in _answers(forms).items():
        if isinstance(answer, str):
            row.refused[kind] = answer
            continue
        said = _compared(*forms[kind], answer)
        {"right": row.works, "wrong": row.differs, "": row.runs}[said].append(kind)
    return row


def _answers(forms: dict[str, tuple[ModelProto, list[Array]]]) -> dict[str, list[Array] | str]:
    """What each model answers, or why it does not."""
    together = [kind for kind in forms if kind != "string"]
    if len(together) > 1:
        try:
            return {**_run(forms, together), **_answers({kind: forms[kind] for kind in forms if kind == "string"})}
        except lamina.LaminaError:
            pass  # one of them is refused: each on its own
    answers: dict[str, list[Array] | str] = {}
    for kind in forms:
        try:
            answers |= _run(forms, [kind])
        except lamina.LaminaError as error:
            answers[kind] = error.message
    return answers


def _run(forms: dict[str, tuple[ModelProto, list[Array]]], kinds: Sequence[str]) -> dict[str, list[Array] | str]:
    """The answers of a model that has the nodes of several."""
    first = forms[kinds[0]][0]
    whole = ModelProto(ir_version=first.ir_version, opset_import=first.opset_import)
    whole.graph.name = "cells"
    inputs: list[Array] = []
    for kind in kinds:
        model, given = forms[kind]
        part = model.graph
        for names in (part.node[0].input, part.node[0].output):
            names[:] = [f"{name}@{kind}" if name else "" for name in names]
        whole.graph.node.append(part.node[0])
        for named in (*part.input, *part.output, *part.initializer):
            named.name += f"@{kind}"
        whole.graph.input.extend(part.input)
        whole.graph.output.extend(part.output)
        whole.graph.initializer.extend(part.initializer)
        inputs += given
    try:
        results: Iterator[Array] = iter(lamina.compile(whole, "cpu")(*inputs))
    finally:
        for kind in kinds:  # as they were
            part = forms[kind][0].graph
            for names in (part.node[0].input, part.node[0].output):
                names[:] = [name.removesuffix(f"@{kind}") for name in names]
            for named in (*part.input, *part.output, *part.initializer):
                named.name = named.name.removesuffix(f"@{kind}")
    return {kind: [next(results) for _ in forms[kind][0].graph.output] for kind in kinds}


def _compared(model: ModelProto, inputs: list[Array], answer: list[Array]) -> str:
    """right, wrong, or nothing where no peer has an answer."""
    said = ""
    for peer in (onnx_random.by_reference, onnx_random.by_runtime):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                wanted = peer(model, inputs)
            except Exception:  # whatever a peer cannot do
                continue
        if _dtypes(wanted) != _dtypes(answer):
            continue  # the file says the type, and ours is checked: NumPy made another
        if all(map(onnx_random.agree, answer, wanted)):
            return "right"
        said = "wrong"
    return said


def _dtypes(arrays: Sequence[Any]) -> list[Any]:
    return ["string" if x.dtype.kind in "OUS" else x.dtype for x in map(np.asarray, arrays)]
