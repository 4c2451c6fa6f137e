"""The table of ONNX's operators, `docs/onnx-operators.md`: `python test/tools/operators/onnx_operators.py [--probe]`.

Versions come from the registry and the lowerings; types were tried: each operator's own test model, in every type
that ONNX admits, taken down to the kernels of the cpu target (`--probe`, some minutes, writes `onnx_types.json`).
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, defs, helper, numpy_helper

import lamina
from lamina.dialects.onnx.schemas import DEFAULT_DOMAIN, OLDEST_OPSET
from lamina.passes.convert.onnx_to_stablehlo import find
from lamina.tools.onnx_host.graph import HOST_ONLY, RUN_HERE

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "onnx-operators.md"
TYPES = Path(__file__).with_name("onnx_types.json")
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
HEAD = """# ONNX's operators

Every operator of the domains of `onnx` {version} with the versions that Lamina takes on `cpu`, and the element types of
its data. *code*: hub ops that become machine code; *body*: through the simpler operators by which ONNX defines it;
*host*: strings, sequences, optionals, maps and images, in Python between compiled pieces; strings that are only moved
or compared are moved as numbers by the compiled code. Types were tried on the operator's own test model, down to the
kernels; a dash means that there is none to try. Versions below 7 are upgraded when the model is read.

What of a model cannot be compiled is listed, also by `lamina.unsupported(model)`:

```console
$ python -c "
> import onnx; from onnx import helper as h
> ends = [h.make_tensor_value_info(name, 1, [2]) for name in 'xy']
> graph = h.make_graph([h.make_node('Swirl', ['x'], ['y'], domain='example')], 'g', ends[:1], ends[1:])
> onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid('', 20), h.make_opsetid('example', 1)]), 'm.onnx')"
$ ! lamina import m.onnx --list-unsupported
```

Random operators with a seed draw what
ONNX's reference evaluator draws (NumPy's `RandomState`), the same at each call; without one every call draws anew, and
`lamina.seed(n)` makes the calls from then on repeatable.

Beside the shipped inputs each test model was given random ones, in the shipped range and with NaN, infinities and very
large numbers among them, and compared with ONNX's reference evaluator and ONNX Runtime:
`python test/tools/operators/onnx_random.py`.

<!-- python test/tools/operators/onnx_operators.py writes this page -->
"""


@cache
def _history() -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return {key: sorted(versions, key=lambda s: s.since_version) for key, versions in sorted(found.items())}


def versions(domain: str, name: str) -> list[Any]:
    """The schemas of an operator that models from opset 7 on can mean."""
    every = _history()[domain, name]
    oldest = OLDEST_OPSET if not domain else 1
    current = [s.since_version for s in every if s.since_version <= oldest]
    return [s for s in every if s.since_version >= max(current, default=0) and not s.deprecated]


def way(schema: Any) -> str:
    """How an operator runs: code, body, host, or nothing."""
    oldest = OLDEST_OPSET if not schema.domain else 1
    if find(schema.domain or DEFAULT_DOMAIN, schema.name, max(schema.since_version, oldest)):
        return "code"
    if schema.name in RUN_HERE or schema.name.startswith(HOST_ONLY):
        return "host"
    return "body" if schema.has_function or schema.has_context_dependent_function else ""


def rows() -> Iterator[tuple[str, str, str, str]]:
    """(domain, operator, versions with how they run, types)."""
    types: dict[str, list[str]] = json.loads(TYPES.read_text())
    for domain, name in _history():
        schemas = versions(domain, name)
        ways = [way(schema) for schema in schemas]
        shown = [f"{s.since_version}{'' if w else ' (no)'}" for s, w in zip(schemas, ways, strict=True)]
        if schemas:
            how = "/".join(dict.fromkeys(w for w in ways if w)) or "no"
            yield domain, name, f"{how} | {' '.join(shown)}", " ".join(types.get(f"{domain}.{name}", ["–"]))


def page() -> str:
    """The text of the page."""
    import onnx

    parts = [HEAD.format(version=onnx.__version__)]
    for domain in DOMAINS:
        parts.append(f"\n## {domain or DEFAULT_DOMAIN}\n\n| operator | by | since opset | types |\n|---|---|---|---|\n")
        parts += [f"| {name} | {how} | {types} |\n" for own, name, how, types in rows() if own == domain]
    return "".join(parts)


def in_type(model: ModelProto, inputs: list[Any], variable: str, kind: str, formals: list[Any]) -> ModelProto | None:
    """The model with the data of a type variable in another type; what steers it becomes a constant."""
    import onnx_random

    code = helper.tensor_dtype_to_np_dtype(getattr(__import__("onnx").TensorProto, kind.upper()))
    result = ModelProto()
    result.CopyFrom(model)
    node = result.graph.node[0]
    steering = onnx_random.steering(model)
    for info, x in zip(list(result.graph.input), inputs, strict=True):
        if not isinstance(x, np.ndarray):
            return None
        place = list(node.input).index(info.name)
        formal = formals[min(place, len(formals) - 1)]
        array = x.astype(code) if formal.type_str == variable else x
        info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        if info.name in steering:
            result.graph.initializer.append(numpy_helper.from_array(array, info.name))
            result.graph.input.remove(info)
    for info in result.graph.output:
        info.type.tensor_type.elem_type = 0
        info.type.tensor_type.ClearField("shape")
    return result


def probe() -> dict[str, list[str]]:
    """The types in which each operator's first test model reaches the kernels of the cpu target."""
    import onnx_random

    found: dict[str, list[str]] = {}
    for case in onnx_random.cases():
        node = case.model.graph.node[0]
        key = f"{node.domain}.{node.op_type}"
        if key in found or len(case.model.graph.node) > 1 or any(a.HasField("g") for a in node.attribute):
            continue
        version = {e.domain: e.version for e in case.model.opset_import}[node.domain]
        formals = list(defs.get_schema(node.op_type, version, node.domain).inputs)
        data = next((f for f in formals if not f.type_str.startswith("tensor(") and len(f.types) > 2), None)
        if data is None or any(not isinstance(x, np.ndarray) for x in case.inputs):
            continue
        kinds = sorted(t[7:-1] for t in data.types if t.startswith("tensor(") and t != "tensor(string)")
        found[key] = []
        for kind in kinds:
            try:
                model = in_type(case.model, case.inputs, data.type_str, kind, formals)
                if model is not None:
                    lamina.lower(lamina.import_onnx(model), "linalg")
                    found[key].append(kind)
            except Exception:  # refused, or a type that NumPy cannot make of the shipped values
                continue
        if "tensor(string)" in data.types and node.op_type in RUN_HERE:
            found[key].append("string")
        print(key, *found[key], flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", action="store_true", help="try the types anew, some minutes")
    if parser.parse_args().probe:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TYPES.write_text(json.dumps(probe(), indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
