import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

PROGRAM = "fn double[N](x: f32[N]) -> f32[N] = 2 * x\nfn total[N](x: f32[N]) -> f32 = sum(x)\n"


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "lamina.tools.notebook")
    yield made
    InteractiveShell.clear_instance()


def test_functions_become_names(shell):
    shell.run_cell_magic("lamina", "--target interpret", PROGRAM)
    assert shell.user_ns["double"](np.ones(3, np.float32)).tolist() == [2, 2, 2]
    assert shell.user_ns["total"](np.ones(5, np.float32)) == 5


def test_a_name_for_the_program(shell):
    shell.run_cell_magic("lamina", "net --target interpret", PROGRAM)
    assert "double" not in shell.user_ns
    assert shell.user_ns["net"].double(np.ones(1, np.float32)).tolist() == [2]


def test_a_wrong_program_shows_its_problems(shell, capsys):
    shell.run_cell_magic("lamina", "", "fn f(x: f32) = y\nfn g(x: f32) = z\n")
    told = capsys.readouterr().err
    assert told.count("E101") == 2 and "Traceback" not in told
    assert "f" not in shell.user_ns


def test_a_wrong_option(shell, capsys):
    shell.run_cell_magic("lamina", "--tarjet cpu", PROGRAM)
    assert "unrecognized arguments: --tarjet" in capsys.readouterr().err
