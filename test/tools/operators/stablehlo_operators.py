"""The table of the hub's ops, `docs/stablehlo.md`: `python test/tools/operators/stablehlo_operators.py [--probe]`.

Each op's program (`stablehlo_programs.py`) is tried in each class of element types: printed and read again, run by the
reference, and compiled for `cpu` and run, too (`--probe` writes `stablehlo_types.json`).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from stablehlo_programs import CLASSES, programs

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.dtypes import dtype_of
from lamina.compiler.parsing import parse_module
from lamina.compiler.printing import print_module
from lamina.compiler.program import Program
from lamina.compiler.tolerance import bounded_reference
from lamina.compiler.verifier import verify
from lamina.tools.sources import new_context

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "stablehlo.md"
TYPES = Path(__file__).with_name("stablehlo_types.json")
RANDOM = np.random.default_rng(0)


def inputs_of(program: Program) -> list[Any]:
    """Small numbers for each argument; matrices that have factors."""
    arrays: list[Any] = []
    for kind in program.module.body.block.first_op.function_type.inputs:  # pyright: ignore
        shape, dtype = kind.get_shape(), dtype_of(kind)
        numbers = RANDOM.integers(1, 3, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            numbers = numbers + numbers.T + 4 * np.eye(shape[0], dtype=int)
        whole = dtype.kind in "iub" or "int" in dtype.name
        arrays.append((numbers if whole else numbers + 0.25).astype(dtype))  # whole ones are roots of functions
    return arrays


def attempt(text: str) -> str:
    """How far a program comes: "", "print", "reference" or "cpu"."""
    reached = ""
    try:
        context = new_context()
        module = parse_module(text, "program", context)
        verify(module)
        shown = print_module(module)
        again = parse_module(shown, "program", context)
        verify(again)
        if print_module(again) != shown:
            return reached
        reached = "print"
        program = Program(module, context)
        inputs = inputs_of(program)
        expected = bounded_reference(module, inputs, context)
        reached = "reference"
        found = lamina.compile(program, threads=1)(*inputs)
        if any(right.wrong(value).any() for right, value in zip(expected, found, strict=True)):
            return "wrong"
        return "cpu"
    except LaminaError:
        return reached
    except Exception as error:  # a fault of ours, which the page must not hold
        return f"crash: {error}"


def probe(only: str = "") -> dict[str, dict[str, str]]:
    """How far each op's program comes in each class of element types."""
    found: dict[str, dict[str, str]] = {}
    for name, variants in programs().items():
        if only in name:
            found[name] = {kind: attempt(text) for kind, text in variants.items()}
            print(name, found[name], flush=True)
    return found


HEAD = """# StableHLO's ops

The hub takes the specification's ops, and those of CHLO that frameworks write. The table says how far a program of one
op comes in each class of element types ({classes}): **cpu**, compiled for `cpu` it gives what the reference
gives; **reference**, the reference semantics run it (`--target interpret`) and the target says that it does not;
**print**, it is read, verified and printed; a dash, it was not tried, mostly as there is no such op. Ops not listed
have tests of their own; JAX's operators, element types and shapes are tried in [generated programs](jax.md).

## Quantised tensors

`!quant.uniform<i8:f32, 0.5:3>` is a number kept as an integer: (stored - 3) * 0.5. There may be a scale for each index
of one dimension, and limits narrower than those of the storage type. Ops on such tensors mean, as the specification
has it, to dequantise, to compute in the expressed type and to quantise; ops that move elements move integers;
`dot_general` and `convolution` also take floats and quantised weights. Every step is rounded, so that native code
gives the reference's integers bit by bit (but for functions like `exponential` and for the order of sums). Programs
take and give the stored integers as NumPy arrays.

```console
$ cat > quantised.mlir <<'END'
> !weights = !quant.uniform<i8:f32:1, {{0.5,0.25}}>
> !byte = !quant.uniform<u8:f32, 0.1:128>
> func.func public @main(%x: tensor<2x3xf32>, %w: tensor<3x2x!weights>) -> tensor<2x2x!byte> {{
>   %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] :
>     (tensor<2x3xf32>, tensor<3x2x!weights>) -> tensor<2x2xf32>
>   %q = stablehlo.uniform_quantize %y : (tensor<2x2xf32>) -> tensor<2x2x!byte>
>   func.return %q : tensor<2x2x!byte>
> }}
> END
$ lamina-opt quantised.mlir -p stablehlo-legalize-quant-to-math
$ lamina run quantised.mlir --target interpret
```

| pass | what it does |
|---|---|
| `stablehlo-legalize-quantized-op-to-qdq` | what computes stands between `uniform_dequantize` and `uniform_quantize` |
| `stablehlo-legalize-quant-to-math` | quantised types become the integers stored, conversions arithmetic |

<!-- python test/tools/operators/stablehlo_operators.py writes this page -->

## Ops

"""


def page() -> str:
    """The text of the page."""
    found: dict[str, dict[str, str]] = json.loads(TYPES.read_text())
    shown = ", ".join(f"{kind} `{element}`" for kind, element in CLASSES.items())
    lines = [HEAD.format(classes=shown)]
    lines.append(f"| op | {' | '.join(CLASSES)} |\n|---{'|---' * len(CLASSES)}|\n")
    for name, kinds in sorted(found.items(), key=lambda item: (item[0].startswith("chlo."), item[0])):
        lines.append(f"| {name} | {' | '.join(kinds.get(kind, '–') or 'no' for kind in CLASSES)} |\n")
    return "".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", action="store_true", help="try the programs anew, some minutes")
    if parser.parse_args().probe:
        TYPES.write_text(json.dumps(probe(), indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
