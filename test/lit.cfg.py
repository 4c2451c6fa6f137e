"""`lit test` runs the RUN lines of every .mlir file below; pytest runs the same ones (conftest.py)."""

from lamina.tools.lit_format import InProcess

config.name = "lamina"  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_format = InProcess()  # noqa: F821
