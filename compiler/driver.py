"""The opt driver: reads IR, runs passes, writes IR, and says in one paragraph what went wrong.

`Driver.run` is a plain function of arguments and streams, so that a test calls it in-process. It knows no
dialect and no pass: the tool hands them in as a `Registry`.
"""

from __future__ import annotations

import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from .collector import collector_paused
from .context import LaminaContext
from .diagnostics import Diagnostic, LaminaError, render
from .expectations import unmet
from .instrumentation import DumpIR, DumpWhen, Reproducer, Timing
from .machine import Machine
from .options import option_parser, print_help
from .parsing import LaminaParser
from .pass_manager import Instrumentation, PassFault, PassManager
from .pipelines import parse_pipeline
from .printing import PrintOptions, print_module
from .resources import resource_keys
from .schedules import Schedules
from .verifier import verify

SPLIT_MARKER = "// -----"
WEIGHTS_ATTRIBUTE = "lamina.weights"  # on a module: the name of the file beside it that holds its weights


@dataclass(frozen=True)
class Registry:
    """What a driver can speak of: dialects and passes by name, each with the function that loads it."""

    dialects: Mapping[str, Callable[[], Dialect]]
    passes: Mapping[str, Mapping[str, Callable[[], type[ModulePass]]]]  # by heading, then by name
    warnings: Sequence[Diagnostic] = ()  # what went wrong while plug-ins were looked for
    machine: Callable[[str], Machine] = Machine.preset  # the one of a name, or LaminaError
    all_passes: Mapping[str, Callable[[], type[ModulePass]]] = field(init=False)

    def __post_init__(self) -> None:
        flat = {name: load for group in self.passes.values() for name, load in group.items()}
        object.__setattr__(self, "all_passes", flat)

    def context(self) -> LaminaContext:
        """A fresh context that knows every dialect and pass, none of them loaded."""
        ctx = LaminaContext()
        for name, load in self.dialects.items():
            ctx.register_dialect(name, load)
        ctx.passes = self.all_passes
        return ctx


@dataclass(frozen=True)
class Driver:
    """`lamina-opt` as an object: `registry` is called with the plug-ins that the command line names."""

    registry: Callable[[Sequence[str]], Registry]
    version: str
    program: str = "lamina-opt"

    def run(self, argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
        """Runs one command line. IR goes to `stdout`, everything else to `stderr`.

        Returns 0 when all went well, 1 when `--verify-diagnostics` found a difference, 2 for bad input or usage.
        """
        try:
            parser = option_parser(self.program)
            args, rest = parser.parse_known_args(list(argv))
            registry = self.registry(args.plugin)
            for warning in registry.warnings:
                stderr.write(f"{warning}\n")
            if args.version:
                stdout.write(f"{self.program} {self.version}\n")
            elif args.help:
                print_help(parser, describe_passes(registry), stdout)
            elif args.list_passes:
                stdout.writelines(f"{name}\n" for name in registry.all_passes)
            elif args.show_dialects:
                stdout.write("Available dialects: " + ",".join(sorted(registry.dialects)) + "\n")
            else:
                pipeline = _pipeline_text(args, rest, registry)
                return _Run(args, registry, pipeline, stdin, stdout, stderr).all()
            return 0
        except LaminaError as error:
            return self._refuse(str(error), argv, stderr)
        except BrokenPipeError:
            raise
        except OSError as error:
            place = error.filename or self.program
            return self._refuse(f"{place}: error: {error.strerror or error}", argv, stderr)
        except UnicodeDecodeError as error:
            return self._refuse(f"{self.program}: error: the input is not UTF-8 text: {error}", argv, stderr)

    @staticmethod
    def _refuse(message: str, argv: Sequence[str], stderr: TextIO) -> int:
        stderr.write(f"{message}\n")
        if "--debug" in argv:
            traceback.print_exc(file=stderr)
        return 2


def _pipeline_text(args: Namespace, rest: list[str], registry: Registry) -> str:
    """The pipeline of `-p`, followed by the passes given as flags of their own (`--cse`, `--tile="size=4"`)."""
    parts: list[str] = [args.pass_pipeline] if args.pass_pipeline else []
    for flag in rest:
        name, _, options = flag.lstrip("-").partition("=")
        if not flag.startswith("-") or name not in registry.all_passes:
            raise LaminaError(f"unknown argument '{flag}'", where="lamina-opt", hint="see --help")
        parts.append(f"{name}{{{options}}}" if options else name)
    if len(parts) > 1 and args.pass_pipeline:
        raise LaminaError("give passes either with -p or as flags, not both", where="lamina-opt")
    return ",".join(parts)


def describe_passes(registry: Registry) -> str:
    """Every pass under its heading with the first line of its docstring."""
    lines: list[str] = []
    for heading, passes in registry.passes.items():
        lines.append(f"  {heading}")
        for name, load in passes.items():
            try:
                summary = (load().__doc__ or "").strip().partition("\n")[0]
            except (LaminaError, ImportError, AttributeError) as error:
                summary = f"(cannot be loaded: {error})"
            lines.append(f"    {name:<30} {summary}".rstrip())
    return "\n".join(lines) + "\n"


class _Run:
    """One command line at work."""

    def __init__(
        self, args: Namespace, registry: Registry, pipeline: str, stdin: TextIO, stdout: TextIO, stderr: TextIO
    ):
        self.args, self.registry, self.pipeline = args, registry, pipeline
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.name = "<stdin>" if args.input == "-" else args.input
        self.timing = Timing()
        self.found: list[Diagnostic] = []  # diagnostics of the part at hand
        self.print_options = PrintOptions(
            generic=args.mlir_print_op_generic,
            locations=args.mlir_print_debuginfo,
            elide_above=args.mlir_elide_elementsattrs_if_larger,
            large_constants=args.print_large_constants,
        )

    def all(self) -> int:
        if self.pipeline:
            parse_pipeline(self.pipeline, self.registry.all_passes)  # a wrong pipeline is said before any work
        text = self.stdin.read() if self.args.input == "-" else Path(self.args.input).read_text()
        parts = split_input(text) if self.args.split_input_file else [text]
        outputs: list[str] = []
        status = 0
        for part in parts:
            self.found = []
            output = self.part(part)
            if self.args.verify_diagnostics:
                faults = unmet(part, self.name, self.found)
                status = max(status, 1 if faults else 0)
                self.say(faults, text)
            else:
                self.say(self.found, text)
                status = max(status, 2 if any(d.severity == "error" for d in self.found) else 0)
            if output is not None:
                outputs.append(output)
        self.write(f"\n{SPLIT_MARKER}\n\n".join(outputs))
        if self.args.timing:
            self.stderr.write(self.timing.report())
        return status

    def say(self, diagnostics: Sequence[Diagnostic], text: str) -> None:
        for diagnostic in diagnostics:
            self.stderr.write(render(diagnostic, {self.name: text}) + "\n")

    def write(self, text: str) -> None:
        if self.args.output == "-":
            self.stdout.write(text)
        else:
            Path(self.args.output).write_text(text)

    def part(self, text: str) -> str | None:
        """One part of the input through everything: the IR to write, or None when it failed."""
        ctx = self.context()
        try:
            with collector_paused():
                return self.through(ctx, text)
        except LaminaError as error:
            self.found.append(error.diagnostic)
            self.trace()
        except PassFault as error:
            self.trace()
            hint = "--debug shows where"
            if reproducer := self.args.mlir_pass_pipeline_crash_reproducer:
                hint += f", {reproducer} reproduces it"
            else:
                hint += ", --mlir-pass-pipeline-crash-reproducer=FILE keeps a reproducer"
            self.found.append(Diagnostic("error", f"{error} ({hint})", place=self.name))
        return None

    def trace(self) -> None:
        """With --debug, where in the compiler the exception at hand was raised."""
        if self.args.debug:
            traceback.print_exc(file=self.stderr)

    def context(self) -> LaminaContext:
        ctx = self.registry.context()
        ctx.allow_unregistered = self.args.allow_unregistered_dialect
        ctx.diagnostics.listeners.append(self.found.append)
        if self.args.machine:
            ctx.machine = self.registry.machine(self.args.machine)
        if self.args.schedules:
            ctx.schedules = Schedules.read(self.args.schedules)
        if self.args.weights:
            ctx.weights.load(Path(self.args.weights))
        return ctx

    def through(self, ctx: LaminaContext, text: str) -> str:
        with self.timing.phase("Parser"):
            parser = LaminaParser(ctx, text, self.name)
            module = parser.parse_whole()
        self.load_stated_weights(ctx, module)
        with self.timing.phase("Verifier"):
            verify(module)
        pipeline = self.pipeline
        if self.args.run_reproducer:
            stored = parser.file_metadata.get("mlir_reproducer", {}).get("pipeline")
            if not isinstance(stored, str):
                raise LaminaError("the input carries no reproducer pipeline", where=self.name)
            pipeline = stored
        if pipeline:
            passes = parse_pipeline(pipeline, self.registry.all_passes)
            with self.timing.phase("Passes"):
                watchers = self.watchers(ctx, passes)
                PassManager(ctx, passes, verify_each=self.args.verify_each, instrumentations=watchers).run(module)
        if self.args.save_weights:
            ctx.weights.save(Path(self.args.save_weights), dict.fromkeys(resource_keys(module)))
        with self.timing.phase("Output"):
            return print_module(module, self.print_options, ctx.weights)

    def load_stated_weights(self, ctx: LaminaContext, module: ModuleOp) -> None:
        """Takes in the weights file that a module names as lying beside it."""
        stated = module.attributes.get(WEIGHTS_ATTRIBUTE)
        if isinstance(stated, StringAttr) and self.args.input != "-":
            if Path(stated.data).name != stated.data:
                raise LaminaError(f"the weights file '{stated.data}' must lie beside the module", where=self.name)
            ctx.weights.load(Path(self.args.input).with_name(stated.data))

    def watchers(self, ctx: LaminaContext, passes: list[ModulePass]) -> list[Instrumentation]:
        args = self.args
        with_bytes = PrintOptions(locations=True, large_constants=True)

        def show(module: ModuleOp) -> str:
            return print_module(module, self.print_options, ctx.weights)

        found: list[Instrumentation] = [self.timing]
        when = DumpWhen(
            _chosen(args.mlir_print_ir_before_all, args.mlir_print_ir_before),
            _chosen(args.mlir_print_ir_after_all, args.mlir_print_ir_after),
            args.mlir_print_ir_after_change,
            args.mlir_print_ir_after_failure,
        )
        if when != DumpWhen():
            found.append(DumpIR(when, show, self.stderr.write))
        if args.mlir_pass_pipeline_crash_reproducer:
            path = Path(args.mlir_pass_pipeline_crash_reproducer)
            found.append(Reproducer(path, passes, lambda module: print_module(module, with_bytes, ctx.weights)))
        return found


def _chosen(everything: bool, names: list[str] | None) -> frozenset[str] | None:
    if everything:
        return frozenset()
    return None if names is None else frozenset(",".join(names).split(","))


def split_input(text: str) -> list[str]:
    """The parts of `text` between marker lines, each padded so that its line numbers are those of the whole.

    >>> split_input("a\\n// -----\\nb")
    ['a\\n', '\\n\\nb']
    """
    parts: list[str] = []
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.rstrip() == SPLIT_MARKER:
            parts.append("".join(lines))
            lines = ["\n" * number]
        else:
            lines.append(line)
    return [*parts, "".join(lines)]


def main(driver: Driver) -> int:
    """Runs `driver` on the process's own arguments and streams."""
    try:
        status = driver.run(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
