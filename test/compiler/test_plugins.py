"""Plug-ins: found by being installed; a broken one is a warning, a clash an error that names both packages."""

import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from lamina.tools.opt import driver

EXAMPLE = Path(__file__).parents[1] / "plugin_example"
PROGRAM = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = example.cube %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example is pip-installed."""
    source = tmp_path_factory.mktemp("source") / "plugin_example"
    shutil.copytree(EXAMPLE, source)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder), str(source)], check=True, timeout=300)
    return folder


def fake(folder: Path, package: str, code: str) -> None:
    """Pretends to install `package`, whose one module has `code` and is a universe."""
    module = f"fake_{package}"
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[xdsl.universe]\n{package} = {module}:UNIVERSE\n")


def opt(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    status = driver().run(arguments, StringIO(stdin), out, err)
    return status, out.getvalue(), err.getvalue()


def in_fresh_process(site: Path, cache: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)]),
        "LAMINA_CACHE": str(cache),
    }
    command = [sys.executable, "-m", "lamina.tools.opt", *arguments]
    return subprocess.run(
        command, input=stdin, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_installed_example_is_known(site: Path, tmp_path: Path) -> None:
    shown = in_fresh_process(site, tmp_path, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "plug-in lamina-example" in shown.stdout
    assert "example-expand-cube            Writes example.cube as two products." in shown.stdout
    ran = in_fresh_process(site, tmp_path, "-p", "example-expand-cube", stdin=PROGRAM)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("arith.mulf") == 2
    gone = in_fresh_process(tmp_path, tmp_path, "-p", "example-expand-cube", stdin=PROGRAM)
    assert gone.returncode == 2 and "unknown pass" in gone.stderr


def test_a_broken_plugin_is_a_warning(isolated: Path) -> None:
    fake(isolated, "broken", "raise RuntimeError('no such luck')")
    status, out, err = opt(stdin="func.func @f() { return }")
    assert status == 0 and "func.func @f" in out
    assert err == ("warning: plug-in 'broken' of package 'broken' does not load: RuntimeError: no such luck\n")


def test_what_is_no_universe_is_a_warning(isolated: Path) -> None:
    fake(isolated, "odd", "UNIVERSE = 3")
    status, _, err = opt(stdin="func.func @f() { return }")
    assert status == 0
    assert "warning: plug-in 'odd' of package 'odd' is a int, expected an xdsl.universe.Universe" in err


def test_a_clash_names_both_packages(isolated: Path) -> None:
    code = "from xdsl.universe import Universe\nUNIVERSE = Universe(all_passes={'my-pass': lambda: None})"
    fake(isolated, "first", code)
    fake(isolated, "second", code)
    status, _, err = opt(stdin="func.func @f() { return }")
    assert status == 2
    assert err == "error: packages 'first' and 'second' both have a pass 'my-pass' (uninstall one of them)\n"


def test_a_clash_with_our_own_names_both(isolated: Path) -> None:
    fake(isolated, "bold", "from xdsl.universe import Universe\nUNIVERSE = Universe(all_passes={'cse': lambda: None})")
    status, _, err = opt(stdin="func.func @f() { return }")
    assert status == 2 and "packages 'lamina' and 'bold' both have a pass 'cse'" in err


def test_a_pass_that_does_not_load_names_its_package(isolated: Path) -> None:
    code = "from xdsl.universe import Universe\nUNIVERSE = Universe(all_passes={'p': lambda: __import__('nowhere')})"
    fake(isolated, "hollow", code)
    status, _, err = opt("-p", "p", stdin="func.func @f() { return }")
    assert status == 2 and "pass 'p' of plug-in package 'hollow' does not load" in err
    assert "cannot be loaded" in opt("--help")[1]


def test_a_plugin_may_be_named(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (isolated / "fake_named.py").write_text("from xdsl.universe import Universe\nUNIVERSE = Universe()")
    assert opt("--plugin", "fake_named:UNIVERSE", stdin="func.func @f() { return }")[0] == 0
    status, _, err = opt("--plugin", "fake_missing:UNIVERSE", stdin="func.func @f() { return }")
    assert status == 2 and "fake_missing" in err
    monkeypatch.setenv("LAMINA_PLUGINS", "fake_missing:UNIVERSE")
    assert opt(stdin="func.func @f() { return }")[0] == 2


CUSTOM_OPERATOR = """
import numpy as np
import onnx
import onnx.helper as h
import lamina

x, y = (h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy")
node = h.make_node("Cube", ["x"], ["y"], domain="com.example")
opsets = [h.make_opsetid("", 17), h.make_opsetid("com.example", 1)]
model = h.make_model(h.make_graph([node], "g", [x], [y]), opset_imports=opsets)
(result,) = lamina.compile(model, target="interpret")(np.arange(4, dtype=np.float32))
print(result.tolist())
"""


def test_an_onnx_operator_of_a_plugin_compiles(site: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)]),
        "LAMINA_CACHE": str(tmp_path),
    }
    command = [sys.executable, "-c", CUSTOM_OPERATOR]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "[0.0, 1.0, 8.0, 27.0]\n", done.stderr


def test_a_plugins_op_is_interpreted_by_its_meaning(site: Path, tmp_path: Path) -> None:
    code = (
        "import numpy as np\nfrom lamina.tools.registry import registry\n"
        "from lamina.compiler.parsing import parse_module\nfrom lamina.compiler.interpreter import Interpreter\n"
        f"ctx = registry().context()\nmodule = parse_module({PROGRAM.replace('@f', '@main')!r}, 'p', ctx)\n"
        "print(Interpreter(ctx).run(module, [np.full(4, 2, np.float32)])[0].tolist())"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "[8.0, 8.0, 8.0, 8.0]\n", done.stderr


def test_stock_xdsl_opt_reads_our_dialects(tmp_path: Path) -> None:
    info = tmp_path / "lamina-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamina\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[xdsl.universe]\nlamina = lamina.tools.universe:UNIVERSE\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    program = PROGRAM.replace("4x", "2x").replace("example.cube %x", "stablehlo.add %x, %x")
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "-p", "dce"]
    done = subprocess.run(
        command, input=program, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert "stablehlo.add" in done.stdout, done.stderr
