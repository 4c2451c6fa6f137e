"""The table of operators agrees with ONNX's schema registry: every input and attribute of every version is named."""

from __future__ import annotations

from onnx import defs

from lamina.passes.convert.onnx_to_stablehlo import find, operators

LEFT_OUT = {("Constant", "value_string"), ("Constant", "value_strings")}  # refused where they occur


def test_signatures() -> None:
    names = {name for domain, name, _ in operators() if domain == "ai.onnx"}
    wrong: list[str] = []
    for schema in defs.get_all_schemas_with_history():
        opset = max(7, schema.since_version)
        entry = find("ai.onnx", schema.name, opset)
        if schema.domain or schema.name not in names or entry is None or schema.deprecated:
            continue
        if defs.get_schema(schema.name, opset, "").since_version != schema.since_version:
            continue  # only in opsets below 7
        label = f"{schema.name} since {schema.since_version}"
        wrong += [
            f"{label}: attribute {name}"
            for name in schema.attributes
            if name not in entry.attributes and (schema.name, name) not in LEFT_OUT
        ]
        if not entry.variadic and entry.inputs < schema.max_input:
            wrong.append(f"{label}: takes {schema.max_input} inputs, the lowering {entry.inputs}")
    assert not wrong
