"""check, fmt, test and explain as a person runs them."""

import io
import json
from pathlib import Path

import pytest

from lamina.dialects.dsl.language.codes import CODES
from lamina.tools.main import main
from lamina.tools.programs.explain import pages

DOCS = Path(__file__).parents[3] / "docs" / "errors"
GOOD = "fn double[N](x: f32[N]) -> f32[N] = 2 * x\n"
WRONG = "fn f(x: f32) -> f32 = y\nfn g(x: f32) -> f32 = z\n"
TESTS = """\
fn double[N](x: f32[N]) -> f32[N] = 2 * x
test "doubles" {
  expect double([1.0, 2.0]) == [2.0, 4.0]
}
test "does not triple" {
  expect double([1.0, 2.0]) ~= [3.0, 4.0] within 1e-3
  expect 1 == 2
  expect all(double([1.0]) > 5)
}
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="a.lam"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_check_tells_everything_of_all_files(file, capsys):
    assert main(["check", file(GOOD)]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["check", file(WRONG), file(WRONG, "b.lam")]) == 2
    told = capsys.readouterr().err
    assert told.count("error[E101]") == 4 and told.endswith("4 errors, 0 warnings\n")
    assert "1 | fn f(x: f32) -> f32 = y\n  |                       ^" in told


def test_check_for_programs(file, capsys):
    assert main(["check", "--format", "json", file(WRONG)]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [(p["code"], p["labels"][0]["line"], p["labels"][0]["column"]) for p in found] == [
        ("E101", 1, 23),
        ("E101", 2, 23),
    ]


def test_fmt_rewrites_what_is_not_laid_out(file, capsys):
    path = file("fn double[N]( x:f32[N] )->f32[N]=2*x\n")
    assert main(["fmt", "--check", path]) == 1
    assert main(["fmt", path]) == 0
    assert Path(path).read_text() == GOOD
    assert main(["fmt", "--check", path]) == 0


def test_fmt_leaves_what_is_no_program(file, capsys):
    path = file("fn f( = 3")
    assert main(["fmt", path]) == 2
    assert Path(path).read_text() == "fn f( = 3"
    assert "error[E0" in capsys.readouterr().err


def test_fmt_of_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("const  N=3"))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == "const N = 3\n"


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_tests_of_a_program(file, capsys, target):
    assert main(["test", file(TESTS), "--target", target]) == 1
    out, told = capsys.readouterr()
    assert "ok     " in out and "FAILED" in out and out.endswith("2 tests, 1 failed\n")
    assert "1 of 2 elements differ, the first at [0]: 2, expected 3" in told
    assert "is 1, expected 2" in told and "is false" in told
    assert main(["test", file(TESTS), "--target", target, "--only", "doubles"]) == 0


def test_tests_of_a_wrong_program(file, capsys):
    assert main(["test", file(WRONG)]) == 2
    assert "error[E101]" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "fmt", "test"])
def test_a_file_that_is_not_there(command, capsys, tmp_path):
    assert main([command, str(tmp_path / "none.lam")]) == 2
    told = capsys.readouterr().err
    assert "No such file" in told and "Traceback" not in told


def test_explain(capsys):
    assert main(["explain", "e301"]) == 0
    assert capsys.readouterr().out.startswith("# E301: ")
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(CODES)
    assert main(["explain", "E30l"]) == 2
    assert "there is no code 'E30L'" in capsys.readouterr().err


def test_the_pages_are_current():
    assert {path.name: path.read_text() for path in DOCS.glob("*.md")} == pages(), (
        "run `lamina explain --write docs/errors`"
    )
