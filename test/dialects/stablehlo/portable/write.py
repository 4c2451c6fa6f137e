"""Writes the artefacts here again from the programs beside them, by upstream's own bindings; needs JAX.

python test/dialects/stablehlo/portable/write.py
"""

from pathlib import Path

from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = Path(__file__).parent
PROGRAMS = "contraction control elementwise indexed movement reduction dynamic collective deprecated portable/run"
OLD = {"movement": "0.14.0", "deprecated": "0.9.0"}  # older forms of ops, and of the bytecode itself


def main() -> None:
    """Writes them all."""
    for name in PROGRAMS.split():
        with mlir.make_ir_context():
            text = str(ir.Module.parse((HERE.parent / f"{name}.mlir").read_text()))
            versions = {"": stablehlo.get_current_version(), **({"_old": OLD[name]} if name in OLD else {})}
            for suffix, version in versions.items():
                data = stablehlo.serialize_portable_artifact_str(text, version)
                (HERE / f"{Path(name).name}{suffix}.mlirbc").write_bytes(data)


if __name__ == "__main__":
    main()
