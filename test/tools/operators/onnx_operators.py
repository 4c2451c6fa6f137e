"""The table of ONNX's operators, `docs/onnx-operators.md`: `python test/tools/operators/onnx_operators.py [--probe]`.

Versions come from the registry and the lowerings. Types were tried (`cells.py`): `--probe` compiles and runs them and
writes `onnx_types.json`, an hour for all on two cores; `--check Abs Clip` tries some and compares.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from onnx import defs

from lamina.dialects.onnx.schemas import DEFAULT_DOMAIN, OLDEST_OPSET
from lamina.passes.convert.onnx_to_stablehlo import find
from lamina.tools.onnx_host.graph import HOST_ONLY, RUN_HERE

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "onnx-operators.md"
TYPES = Path(__file__).with_name("onnx_types.json")
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
HEAD = """# ONNX's operators

Every operator of the domains of `onnx` {version}, in each version that models from opset 7 on can mean, with the types
of its data that run on `cpu`. *code*: hub ops that become machine code; *body*: through the simpler operators by which
ONNX defines it; *host*: strings, sequences, optionals, maps and images, in Python between compiled pieces; strings that
are only moved or compared are moved as numbers by the compiled code. Versions below 7 are upgraded when the model is
read.

Each type was tried: the operator's smallest test model of one node, rewritten in that version and type, was compiled
for `cpu` and run, and its answer was that of ONNX's reference evaluator or of ONNX Runtime. *alone*: it ran, and
neither of the two runs it. *differs*: it ran, and agrees with neither, which is not judged yet. *refused*: with a
reason, which `onnx_types.json` has. *as given*: the types do not vary. *lowered*: not run yet in this version; the
newest was taken down to the kernels. A dash: there is no such test model (operators with graphs inside or with
sequences, and those that draw random numbers).

What of a model cannot be compiled is listed, also by `lamina.unsupported(model)`:

```console
$ python -c "
> import onnx; from onnx import helper as h
> ends = [h.make_tensor_value_info(name, 1, [2]) for name in 'xy']
> graph = h.make_graph([h.make_node('Swirl', ['x'], ['y'], domain='example')], 'g', ends[:1], ends[1:])
> onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid('', 20), h.make_opsetid('example', 1)]), 'm.onnx')"
$ ! lamina import m.onnx --list-unsupported
```

Sizes that data decide, of what `NonZero`, `NonMaxSuppression`, `Unique` and `Compress` give, are carried on beside
tensors that are as large as these can get: through arithmetic, reductions, products with weights, gathers and scatters,
joining, slicing, padding, `TopK`, shapes that are computed from them, and `If` with branches of different sizes. What
detectors of torchvision and Ultralytics do behind their networks is that. Operators without a rule for it
(`passes/convert/onnx_to_stablehlo/bounded*.py`), and loops over such tensors, are refused with a message that says so.

Dimensions that a file leaves open have the names it gives them (`--shape batch=8`). Those without one are called after
their input: `x_dim0`; Paddle's `?` is no name. Which branch of an `If` is taken need not be known, unless one of them
does not fit the shapes; then the inputs that decide it are compiled in, as those are whose values are sizes.

Random operators with a seed draw what ONNX's reference evaluator draws (NumPy's `RandomState`), the same at each call;
without one every call draws anew, and `lamina.seed(n)` makes the calls from then on repeatable.

Beside the shipped inputs each test model was given random ones, in the shipped range and with NaN, infinities and very
large numbers among them, and compared with ONNX's reference evaluator and ONNX Runtime:
`python test/tools/operators/onnx_random.py`; where they differ over NaN and overflow, `judged.py` beside it says why.

<!-- `python test/tools/operators/onnx_operators.py` writes this page; --probe tries all types first, an hour -->
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


def rows() -> Iterator[tuple[str, str, str, int, str]]:
    """(domain, operator, how it runs, version, types) of each operator and version."""
    table: dict[str, dict[str, Any]] = json.loads(TYPES.read_text())
    for domain, name in _history():
        for schema in versions(domain, name):
            tried = table.get(f"{domain}.{name}", {})
            found = tried.get(str(schema.since_version), {})
            parts = [found.get("works", "")]
            parts += [f"alone: {found['runs']}" for _ in [0] if "runs" in found]
            parts += [f"differs: {found['differs']}" for _ in [0] if "differs" in found]
            parts += [f"refused: {' '.join(found['refused'])}" for _ in [0] if "refused" in found]
            parts += [f"lowered: {tried['lowered']}" for _ in [0] if tried.get("lowered") and not found]
            version = max(schema.since_version, OLDEST_OPSET) if not domain else schema.since_version
            yield domain, name, way(schema) or "no", version, "; ".join(filter(None, parts)) or "–"


def page() -> str:
    """The text of the page."""
    import onnx

    parts = [HEAD.format(version=onnx.__version__)]
    for domain in DOMAINS:
        parts.append(f"\n## {domain or DEFAULT_DOMAIN}\n\n| operator | from | by | types |\n|---|---|---|---|\n")
        parts += [f"| {name} | {v} | {how} | {types} |\n" for own, name, how, v, types in rows() if own == domain]
    return "".join(parts)


def probe(only: str, part: str) -> None:
    """Tries operators anew and writes down what came of each at once."""
    import cells

    first, step = map(int, part.split("/"))
    cases = cells.smallest_cases()
    for domain, name in sorted(cases)[first::step]:
        if only not in name:
            continue
        for schema in versions(domain, name):
            row = cells.tried(cases[domain, name], schema)
            print(domain, name, schema.since_version, row, flush=True)
            with open(TYPES.with_suffix(".lock"), "w") as lock:  # parts run beside each other
                fcntl.flock(lock, fcntl.LOCK_EX)
                table = json.loads(TYPES.read_text())
                table.setdefault(f"{domain}.{name}", {})[str(schema.since_version)] = row.told
                table[f"{domain}.{name}"].pop("lowered", None)
                TYPES.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


def check(names: Sequence[str]) -> list[str]:
    """What of the table is not so when these operators are tried anew."""
    import cells

    table = json.loads(TYPES.read_text())
    cases = cells.smallest_cases()
    wrong: list[str] = []
    for domain, name in (key for key in sorted(cases) if key[1] in names):
        for schema in versions(domain, name):
            row = cells.tried(cases[domain, name], schema).told
            if row != table.get(f"{domain}.{name}", {}).get(str(schema.since_version)):
                wrong.append(f"{name} {schema.since_version}: {row}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", action="store_true", help="try operators anew, an hour for all")
    parser.add_argument("--only", default="", metavar="TEXT", help="operators whose names contain this")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th operator from the K-th on")
    parser.add_argument("--check", nargs="+", metavar="OPERATOR", help="try these anew and compare with the page")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.check:
        wrong = check(arguments.check)
        print(*wrong, sep="\n")
        return int(bool(wrong))
    if arguments.probe:
        probe(arguments.only, arguments.part)
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
