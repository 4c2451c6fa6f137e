"""ONNX's backend interface (`onnx.backend.base`), so that ONNX's own tests run on lamina."""

from __future__ import annotations

from typing import Any

from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from ..backends import TARGETS
from ..compiler.diagnostics import LaminaError
from .api import Model
from .api import compile as compile_model


class UnsupportedError(LaminaError, NotImplementedError):
    """A model that is refused; the text says which node and why."""

    def __init__(self, error: LaminaError):
        super().__init__(error.message, where=error.where, hint=error.hint, notes=error.notes)
        self.diagnostic = error.diagnostic


class LaminaRep(BackendRep):
    """A compiled model behind ONNX's interface."""

    def __init__(self, model: Model):
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """One inference; `inputs` in the model's order, or a mapping by name.

        Raises UnsupportedError for what shows only now, when the values that decide shapes are known.
        """
        try:
            return tuple(self.model(**inputs) if isinstance(inputs, dict) else self.model(*inputs))
        except LaminaError as error:
            raise UnsupportedError(error) from error


def _refuse_chance(model: ModelProto) -> None:
    """Raises LaminaError for random numbers: whoever asks through this interface compares answers."""
    for node in model.graph.node:
        if node.op_type.startswith(("Bernoulli", "Multinomial", "Random")) and not node.domain:
            raise LaminaError(
                f"no two implementations of {node.op_type} draw the same", hint="lamina.compile takes the model"
            )


class LaminaBackend(Backend):
    """`prepare`, `run_model` and `supports_device` for the targets of lamina; device CPU is target `cpu`."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> LaminaRep:
        """Compiles `model`. Raises UnsupportedError when it cannot be, or when chance would decide what it answers."""
        try:
            _refuse_chance(model)
            return LaminaRep(compile_model(model, device.lower(), **kwargs))
        except LaminaError as error:
            raise UnsupportedError(error) from error

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` names a target."""
        return device.lower().partition(":")[0] in TARGETS


prepare = LaminaBackend.prepare
run_model = LaminaBackend.run_model
run_node = LaminaBackend.run_node
supports_device = LaminaBackend.supports_device
