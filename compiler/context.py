"""The context of one compilation: the dialects it knows, the weights it may read, the machine it aims at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import UnregisteredAttr
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.passes import ModulePass

from .diagnostics import DiagnosticEngine, LaminaError
from .machine import Machine
from .schedules import Schedules
from .weights import WeightStore

FOREIGN_ATTRIBUTES = frozenset({"mhlo", "sdy"})
"""Dialects whose attributes come with programs of JAX and say where these run, not what they compute: kept as text."""


class OpenDialect(Dialect, ABC):
    """A dialect whose op classes are made when first asked for: they mirror a registry kept elsewhere."""

    @abstractmethod
    def find_operation(self, name: str) -> type[Operation] | None:
        """The class of the op with the full name `name` (`onnx.Conv`), None when the registry has none."""


class LaminaContext(Context):
    """xDSL's context with what a pass of ours may ask: `weights` (bytes behind resource handles), `machine`,
    `schedules` given for computations by name, the `precision` of contractions of f32, `diagnostics` to say what is no
    error (`ctx.diagnostics.emit("remark", ...)`), and `passes`, those known by name, for a frontend whose programs hold
    programs of another one.
    """

    weights: WeightStore
    machine: Machine
    schedules: Schedules
    precision: str
    diagnostics: DiagnosticEngine
    passes: Mapping[str, Callable[[], type[ModulePass]]]

    def __init__(self, *, allow_unregistered: bool = False, machine: Machine | None = None):
        super().__init__(allow_unregistered)
        self.weights = WeightStore()
        self.diagnostics = DiagnosticEngine()
        self.machine = machine or Machine.preset("x86-64-avx2")
        self.schedules = Schedules()
        self.precision = "f32"
        self.passes = {}

    def _get_known_op(self, name: str) -> type[Operation] | None:
        op = super()._get_known_op(name)
        if op is None:
            dialect = self._loaded_dialects.get(name.partition(".")[0])
            if isinstance(dialect, OpenDialect) and (op := dialect.find_operation(name)) is not None:
                self._loaded_ops[name] = op
        return op

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        """xDSL's; attributes of `FOREIGN_ATTRIBUTES` are known by name only."""
        found = super().get_optional_attr(name)
        if found is None and name.partition(".")[0] in FOREIGN_ATTRIBUTES:
            found = UnregisteredAttr.with_name_and_type(name, False)
            self._loaded_attrs[name] = found
        return found

    def find_pass(self, name: str) -> type[ModulePass]:
        """The pass called `name`. Raises LaminaError in a context that was made without passes."""
        if name not in self.passes:
            raise LaminaError(f"this context does not know the pass '{name}'", hint="make it with lamina's tools")
        return self.passes[name]()

    def clone(self) -> LaminaContext:
        """A context with the same dialects; weights and machine are shared, not copied."""
        other = LaminaContext(allow_unregistered=self.allow_unregistered, machine=self.machine)
        other.weights = self.weights
        other.schedules = self.schedules
        other.precision = self.precision
        other.diagnostics = self.diagnostics
        other.passes = self.passes
        other._loaded_dialects = self._loaded_dialects.copy()
        other._loaded_ops = self._loaded_ops.copy()
        other._loaded_attrs = self._loaded_attrs.copy()
        other._loaded_types = self._loaded_types.copy()
        other._registered_dialects = self._registered_dialects.copy()
        return other


def lamina_context(ctx: Context) -> LaminaContext:
    """`ctx` as ours; passes that need weights or the machine call this.

    Raises LaminaError when run under a driver (stock xdsl-opt) whose context has neither.
    """
    if not isinstance(ctx, LaminaContext):
        raise LaminaError("this pass needs weights and a machine description", hint="run it with lamina-opt")
    return ctx
