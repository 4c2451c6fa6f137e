"""A cell magic for notebooks: the cell is a program, its functions become names of the notebook.

    %load_ext lamina.tools.notebook

    %%lamina
    fn double[N](x: f32[N]) -> f32[N] = 2 * x

    double(np.ones(3, np.float32))        # in the next cell

`%%lamina net` binds the program as `net` instead, its functions being `net.double`; `--target interpret` chooses the
target. A wrong program shows all its problems, not a traceback.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..compiler.diagnostics import LaminaError


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext` calls: adds the magic."""

    def lamina(line: str, cell: str) -> None:
        """Compiles the cell as a program of tensor functions."""
        from . import dsl

        options = _options(line)
        if options is None:
            return
        try:
            program = dsl.compile(cell + "\n", target=options.target)
        except LaminaError as error:
            print(error, file=sys.stderr)
            return
        names: dict[str, Any] = {options.name: program} if options.name else {name: program[name] for name in program}
        shell.push(names)

    shell.register_magic_function(lamina, magic_kind="cell", magic_name="lamina")


def _options(line: str) -> argparse.Namespace | None:
    parser = argparse.ArgumentParser(prog="%%lamina", add_help=False)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--target", default="cpu")
    try:
        return parser.parse_args(line.split())
    except SystemExit:  # argparse has said why
        return None
