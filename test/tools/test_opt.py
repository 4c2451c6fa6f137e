"""The opt driver from outside: arguments and streams in, exit code and streams out."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.driver import Driver, Registry
from lamina.tools.opt import driver
from lamina.tools.registry import registry

GOOD = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"


@dataclass(frozen=True)
class Crash(ModulePass):
    """Breaks."""

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise ZeroDivisionError("of no use")


@dataclass(frozen=True)
class Spoil(ModulePass):
    """Leaves invalid IR."""

    name = "test-spoil"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name == "arith.addi":
                inner.detach()
                assert inner.results[0].first_use is not None
                block = inner.results[0].first_use.operation.parent
                assert block is not None
                block.add_op(inner)


@dataclass(frozen=True)
class Remark(ModulePass):
    """Says something about every addition."""

    name = "test-remark"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert isinstance(ctx, LaminaContext)
        for inner in op.walk():
            if inner.name == "arith.addi":
                ctx.diagnostics.emit("remark", "adds", inner)


@dataclass(frozen=True)
class Refuse(ModulePass):
    """Refuses additions of a width."""

    name = "test-refuse"
    width: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if inner.name == "arith.addi":
                raise LaminaError(f"no additions of {self.width} bits", where=inner, hint="subtract")


def with_test_passes() -> Driver:
    """lamina-opt with the passes above."""
    passes: dict[str, Callable[[], type[ModulePass]]] = {
        p.name: (lambda p=p: p) for p in (Crash, Spoil, Remark, Refuse)
    }

    def with_tests(plugins: object) -> Registry:
        known = registry()
        return replace(known, passes={**known.passes, "test": passes})

    return replace(driver(), registry=with_tests)


def opt(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    status = with_test_passes().run(arguments, StringIO(stdin), out, err)
    return status, out.getvalue(), err.getvalue()


def test_stdin_and_file_and_output(tmp_path: Path) -> None:
    source, target = tmp_path / "a.mlir", tmp_path / "b.mlir"
    source.write_text(GOOD)
    assert opt(stdin=GOOD) == opt("-", stdin=GOOD) == opt(str(source))
    assert opt(str(source), "-o", str(target)) == (0, "", "")
    assert "arith.addi" in target.read_text()
    assert opt(str(target))[1] == target.read_text()


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("nowhere.mlir",), "", "nowhere.mlir: error: No such file or directory"),
        (("--no-such-flag",), GOOD, "unknown argument '--no-such-flag'"),
        (("-p", "canonicalise"), GOOD, "unknown pass 'canonicalise' (did you mean 'canonicalize'?)"),
        (("-p", "cse{"), GOOD, "bad pipeline 'cse{'"),
        (("-p", "cse{deep=1}"), GOOD, "pass 'cse'"),
        (("-p", "func.func(cse)"), GOOD, "every pass here runs on the whole module"),
        (("-p", "test-refuse{width=wide}"), GOOD, "its options: width: int"),
        (("--machine", "abacus"), GOOD, "unknown machine 'abacus'"),
        (("--weights", "nowhere"), GOOD, "nowhere: error: cannot read the weights"),
        (("--run-reproducer",), GOOD, "carries no reproducer pipeline"),
        ((), "func.func @f( {", "<stdin>:1:15: error:"),
        ((), "foo.bar", "there is no dialect 'foo'"),
        ((), "func.func @f() { return %x : i32 }", "use of undeclared value %x"),
        ((), "func.func @f() -> i32 { func.return }", "<stdin>:1:25: error: 'func.return' op"),
        ((), '"arith.addi"() : () -> ()', "<stdin>:1:1: error: 'arith.addi' op"),
        ((), "\x00", "<stdin>:1:1: error:"),
    ],
)
def test_bad_input_is_one_paragraph_and_exit_2(arguments: tuple[str, ...], stdin: str, message: str) -> None:
    status, out, err = opt(*arguments, stdin=stdin)
    assert status == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_errors_show_the_line() -> None:
    status, _, err = opt("-p", "test-refuse", stdin=GOOD)
    assert status == 2
    assert err == (
        "<stdin>:2:8: error: 'arith.addi' op no additions of 32 bits (subtract)\n"
        "  %0 = arith.addi %a, %a : i32\n       ^\n"
    )


def test_binary_input(tmp_path: Path) -> None:
    path = tmp_path / "a.mlir"
    path.write_bytes(b"\xff\xfe\x00")
    status, _, err = opt(str(path))
    assert status == 2 and "not UTF-8" in err


def test_a_crash_is_a_diagnostic_and_can_be_reproduced(tmp_path: Path) -> None:
    file = tmp_path / "crash.mlir"
    pipeline = f"--mlir-pass-pipeline-crash-reproducer={file}"
    status, _, err = opt("-p", "canonicalize,test-crash,cse", pipeline, stdin=GOOD)
    assert status == 2
    assert "internal error in pass 'test-crash': ZeroDivisionError: of no use" in err
    assert "Traceback" not in err
    assert 'pipeline: "builtin.module(test-crash,cse)"' in file.read_text()
    status, _, again = opt("--run-reproducer", str(file))
    assert status == 2 and "internal error in pass 'test-crash'" in again
    assert "Traceback" in opt("-p", "test-crash", "--debug", stdin=GOOD)[2]


def test_a_pass_that_leaves_invalid_ir_is_named() -> None:
    status, _, err = opt("-p", "test-spoil,cse", stdin=GOOD)
    assert status == 2
    assert "internal error in pass 'test-spoil': it left invalid IR" in err


def test_remarks_go_to_stderr_and_are_no_failure() -> None:
    status, out, err = opt("-p", "test-remark", stdin=GOOD)
    assert status == 0 and "func.func" in out
    assert err.startswith("<stdin>:2:8: remark: 'arith.addi' op adds\n")


def test_verify_diagnostics() -> None:
    expected = GOOD.replace("  %0", "  // expected-remark@+1 {{adds}}\n  %0")
    assert opt("-p", "test-remark", "--verify-diagnostics", stdin=expected)[0] == 0
    status, _, err = opt("-p", "test-remark", "--verify-diagnostics", stdin=GOOD)
    assert status == 1 and "unexpected remark: 'arith.addi' op adds" in err
    status, _, err = opt("--verify-diagnostics", stdin=expected)
    assert status == 1 and 'expected remark "adds" was not produced' in err
    wrong_line = expected.replace("@+1", "@+2")
    assert opt("-p", "test-remark", "--verify-diagnostics", stdin=wrong_line)[0] == 1
    above = GOOD.replace("  return", "  // expected-remark@above {{adds}}\n  return")
    below = GOOD.replace("  %0", "  // expected-remark@below {{adds}}\n  %0")
    regex = GOOD.replace(": i32\n  ret", ": i32 // expected-remark-re {{a{{.*}}s}}\n  ret")
    ends = GOOD.replace(": i32\n  ret", ": i32 // expected-remark-re {{add{{[rst]}}}}\n  ret")
    for text in (above, below, regex, ends):
        assert opt("-p", "test-remark", "--verify-diagnostics", stdin=text)[0] == 0
    literal = regex.replace("a{{.*}}s", "a.*s")
    assert opt("-p", "test-remark", "--verify-diagnostics", stdin=literal)[0] == 1
    status, _, err = opt("-p", "test-remark", "--verify-diagnostics", stdin=regex.replace(".*", "("))
    assert status == 2 and "no regular expression: missing ), unterminated subpattern" in err


def test_split_input_file() -> None:
    text = f"{GOOD}// -----\nfoo.bar\n// -----\n{GOOD}"
    status, out, err = opt("--split-input-file", stdin=text)
    assert status == 2
    assert out.count("builtin.module") == 2 and out.count("// -----") == 1
    assert "<stdin>:6:1: error" in err and "\nfoo.bar\n^" in err


def test_dumps() -> None:
    text = GOOD.replace("  return", "  %1 = arith.addi %a, %a : i32\n  return")
    _, _, err = opt("-p", "canonicalize,cse,cse", "--mlir-print-ir-after-change", stdin=text)
    assert err.count("IR Dump After Canonicalize (canonicalize)") == 1 and "(cse)" not in err
    _, _, err = opt("-p", "canonicalize,cse", "--mlir-print-ir-after-all", stdin=text)
    assert err.count("// -----// IR Dump After") == 2
    _, _, err = opt("-p", "canonicalize,cse", "--mlir-print-ir-before=cse", stdin=text)
    assert err.count("IR Dump Before") == 1
    _, _, err = opt("-p", "test-crash", "--mlir-print-ir-after-failure", stdin=text)
    assert "IR Dump After Crash Failed (test-crash)" in err


def test_timing_names_every_pass() -> None:
    _, _, err = opt("-p", "builtin.module(canonicalize, cse)", "--timing", stdin=GOOD)
    for name in ("Execution time report", "Parser", "canonicalize", "cse", "Output", "Total"):
        assert name in err


def test_printing_options() -> None:
    constant = "arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>"
    dense = f"func.func @f() -> tensor<4xi32> {{\n  %0 = {constant}\n  return %0 : tensor<4xi32>\n}}\n"
    assert "dense_resource<__elided__> : tensor<4xi32>" in opt("--mlir-elide-elementsattrs-if-larger=2", stdin=dense)[1]
    assert "dense<[1, 2, 3, 4]>" in opt("--mlir-elide-elementsattrs-if-larger=4", stdin=dense)[1]
    assert '"arith.addi"(' in opt("--mlir-print-op-generic", stdin=GOOD)[1]
    assert 'loc("<stdin>":2:8)' in opt("--mlir-print-debuginfo", stdin=GOOD)[1]
    assert opt("--allow-unregistered-dialect", stdin='"foo.bar"() : () -> ()')[0] == 0


def test_large_constants_travel_with_the_text_or_beside_it(tmp_path: Path) -> None:
    text = (
        "func.func @f() -> tensor<2xf32> {\n  %0 = arith.constant dense_resource<w> : tensor<2xf32>\n"
        '  return %0 : tensor<2xf32>\n}\n{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040" } } #-}\n'
    )
    _, out, _ = opt("--print-large-constants", stdin=text)
    assert 'w: "0x040000000000803F00000040"' in out
    assert opt("--print-large-constants", stdin=out)[1] == out
    assert "0x04" not in opt(stdin=text)[1]
    file = tmp_path / "w.safetensors"
    opt("--save-weights", str(file), stdin=text)
    assert opt("--weights", str(file), "--print-large-constants", stdin=text.split("{-#")[0])[1] == out
    status, _, err = opt(stdin=text.replace("2xf32", "3xf32"))
    assert status == 2 and "resource 'w' holds 8 bytes" in err


def test_lists() -> None:
    assert "canonicalize\n" in opt("--list-passes")[1]
    assert ",stablehlo," in opt("--show-dialects")[1]
    shown = opt("--help")[1]
    assert "any level" in shown and "cse                            Merges ops" in shown


def test_passes_as_flags() -> None:
    assert opt("--canonicalize", "--cse", stdin=GOOD)[0] == 0
    assert "no additions of 8 bits" in opt("--test-refuse=width=8", stdin=GOOD)[2]


def test_version_imports_nothing_heavy() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = "import sys; from lamina.tools.opt import main; main(); print(sorted({'numpy', 'xdsl'} & {*sys.modules}))"
    command = [sys.executable, "-c", program, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    version, heavy = done.stdout.splitlines()
    assert version.startswith("lamina-opt ") and heavy == "[]"
