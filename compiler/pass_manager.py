"""Runs passes over a module, watched by instrumentations: verification, timing, dumps, differential execution."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from .collector import collector_paused
from .diagnostics import LaminaError
from .pipelines import format_pipeline, parse_pipeline
from .verifier import verify

__all__ = ["Instrumentation", "PassFault", "PassManager", "format_pipeline", "parse_pipeline", "verify_after"]


class Instrumentation:
    """What may watch a pipeline run; override what you need. Each call gets the module as it stands."""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Just before `pass_` runs."""

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        """`pass_` has run and its result verified (when the manager verifies)."""

    def failed(self, pass_: ModulePass, module: ModuleOp) -> None:
        """`pass_` raised, or left a module that does not verify."""

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        """`pass_` has run; its result is not verified yet."""


class PassFault(Exception):
    """A pass broke: a defect of ours, not of the input. `pass_name` names it; the cause is chained."""

    def __init__(self, pass_name: str, what: str):
        super().__init__(f"internal error in pass '{pass_name}': {what}")
        self.pass_name = pass_name


class PassManager:
    """Runs `passes` in order.

    With `verify_each` the module is verified after every pass, else once at the end if `verify_last`; a module that a
    pass left invalid is a PassFault naming the pass. LaminaError (bad input) goes through untouched.
    """

    def __init__(
        self,
        ctx: Context,
        passes: Sequence[ModulePass],
        *,
        verify_each: bool = True,
        verify_last: bool = True,
        instrumentations: Sequence[Instrumentation] = (),
    ):
        self.ctx = ctx
        self.passes = tuple(passes)
        self.verify_each = verify_each
        self.verify_last = verify_last
        self.instrumentations = tuple(instrumentations)

    def run(self, module: ModuleOp) -> None:
        """Applies every pass to `module` in place. Raises LaminaError or PassFault; instrumentations see both."""
        with collector_paused():
            self._run(module)

    def _run(self, module: ModuleOp) -> None:
        for number, pass_ in enumerate(self.passes, 1):
            for watcher in self.instrumentations:
                watcher.before(pass_, module)
            try:
                self._run_one(
                    pass_, module, check=self.verify_each or (self.verify_last and number == len(self.passes))
                )
            except (LaminaError, PassFault):
                for watcher in self.instrumentations:
                    watcher.failed(pass_, module)
                raise
            for watcher in self.instrumentations:
                watcher.after(pass_, module)

    def _run_one(self, pass_: ModulePass, module: ModuleOp, *, check: bool) -> None:
        try:
            pass_.apply(self.ctx, module)
        except LaminaError:
            raise
        except DiagnosticException as error:
            raise LaminaError(f"pass '{pass_.name}': {error}") from error
        except MemoryError as error:
            raise LaminaError(f"pass '{pass_.name}': there is too little memory: {error}") from error
        except Exception as error:
            raise PassFault(pass_.name, f"{type(error).__name__}: {error}") from error
        for watcher in self.instrumentations:
            watcher.applied(pass_, module)
        if check:
            verify_after(pass_.name, module)


def verify_after(pass_name: str, module: Operation) -> None:
    """Verifies what a pass left. Raises PassFault: an invalid module is the pass's fault, not the input's."""
    try:
        verify(module)
    except LaminaError as error:
        raise PassFault(pass_name, f"it left invalid IR: {error}") from error
