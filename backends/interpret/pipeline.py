"""How far a model comes down before it is interpreted: to the hub, whose every op has a meaning."""

from __future__ import annotations

from ...compiler.descent import Phase

PHASES = (
    Phase(
        "stablehlo",
        "index notation and the ONNX graph become hub operators",
        ("convert-dsl-to-stablehlo", "onnx-infer-shapes", "convert-onnx-to-stablehlo"),
    ),
)
