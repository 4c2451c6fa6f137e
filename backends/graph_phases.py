"""What every target that compiles begins with: from the source to the graph in its canonical form."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr

from ..compiler.descent import Phase, descend, level_of
from ..compiler.diagnostics import LaminaError
from ..compiler.program import LEVEL, Program
from ..passes import all_passes

INTEGERS = Phase(
    "integers",
    "what QDQ models compute between bytes is computed in integers, and rows where a product allows it",
    ("onnx-infer-shapes", "onnx-fuse-qdq", "onnx-dynamic-quantization", "dce"),
)


def graph_phases(keep: Sequence[str] = (), before_layout: Sequence[str] = ()) -> tuple[Phase, ...]:
    """The phases down to the canonical graph; composites that a target knows how to `keep` stay composites.

    A target's own passes `before_layout` see constants settled, and dimensions in the order that the model has.
    """
    inlined = "stablehlo-inline-composites"
    if keep:
        names = ",".join(f'"{name}"' for name in keep)
        inlined += f"{{keep={names}}}"
    return (
        Phase(
            "stablehlo",
            "index notation and the ONNX graph become hub operators",
            (
                "convert-dsl-to-stablehlo",
                "onnx-infer-shapes",
                "onnx-fuse-dequantized-weights",
                "convert-onnx-to-stablehlo",
            ),
        ),
        Phase(
            "stablehlo-canonical",
            "algebra, constants and layout are settled",
            (
                "inline",
                inlined,
                "stablehlo-legalize-quant-to-math",
                "stablehlo-refine-shapes",
                "stablehlo-replace-deprecated",
                "stablehlo-decompose-chlo",
                "stablehlo-expand-fft",
                "stablehlo-expand-random",
                "stablehlo-expand-library-calls",
                "stablehlo-expand-linear-algebra",
                "canonicalize",
                "cse",
                "stablehlo-simplify",
                "stablehlo-fold-constants",
                "stablehlo-narrow-integers",
                "stablehlo-widen-halves",  # where the machine does not multiply them
                *before_layout,
                "stablehlo-propagate-layout",
                "stablehlo-simplify",  # layout leaves transposes next to each other
                "stablehlo-fold-constants",  # and transposed weights
                "stablehlo-lower-precision",  # where it is asked for
                "cse",
                "dce",
                "stablehlo-outline-repeats",  # equal layers go down to kernels once
            ),
        ),
    )


def in_integers(program: Program) -> Program:
    """A copy of an ONNX graph that computes in integers what is between bytes; it stays on its level.

    Raises LaminaError for a program of another level.
    """
    if (here := level_of(program)) != "onnx":
        raise LaminaError(f"integers are made of ONNX operators, got level '{here}'", hint="a quantised .onnx file")
    copy = program.clone()
    descend(copy, [INTEGERS], all_passes())
    copy.module.attributes[LEVEL] = StringAttr("onnx")
    return copy
