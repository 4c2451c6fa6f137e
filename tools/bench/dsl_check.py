"""How the cost of reading a program grows with it: `lamina bench dsl-check`.

Programs of 1,000, 5,000 and 20,000 lines go through the tokens, the tree, the layout of `lamina fmt` and the checks of
`lamina check`. The last column, of the tree and the checks, must not grow; 5,000 lines may take 2 s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from ...dialects.dsl.language.formatting import format_text
from ...dialects.dsl.language.lexing import tokenize
from ...dialects.dsl.language.parsing import parse
from ...dialects.dsl.language.problems import Problems
from ...dialects.dsl.load import analyse, load_file

SIZES = (1_000, 5_000, 20_000)

_PART = """\
# The {n}th of many layers.
fn layer{n}[M, K, N](x: f32[M, K], w: f32[K, N], b: f32[N], scale: const int = {n}) -> f32[M, N] where K % 8 == 0 {{
  let y[i, j] = sum[k] x[i, k] * w[k, j] + b[j]
  let shifted = y + f32(scale)
  var total = shifted
  for t in 0..4 {{
    total = total * 0.5 + tanh(shifted)
  }}
  let largest[i] = max[j] total[i, j]
  let exponents[i, j] = exp(total[i, j] - largest[i])
  if {n} > 3 {{
    total = total + exponents
  }} else {{
    total = total - exponents
  }}
  let halves = concat([total[:, :1], total[:, 1:]], axis=1)
  return [i, j] => if halves[i, j] > 0.0 {{ exponents[i, j] / (sum[k] exponents[i, k]) }} else {{ 0.0 }}
}}

"""


def program(lines: int) -> str:
    """A program of about so many lines that has nothing wrong with it."""
    return "".join(_PART.format(n=n) for n in range(lines // _PART.count("\n")))


def measure(lines: int) -> dict[str, float]:
    """Seconds of CPU per phase for a program of so many lines."""
    text = program(lines)
    seconds: dict[str, float] = {}

    def timed(phase: str, action: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = action()
        seconds[phase] = time.process_time() - start
        return result

    timed("tokens", lambda: tokenize(text, "program.lam", Problems()))
    timed("tree", lambda: parse(text, "program.lam", Problems()))
    timed("layout", lambda: format_text(text, "program.lam"))
    files = load_file(text)
    found = timed("checks", lambda: analyse(files)).problems.errors
    assert not found, found[0]
    return seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="lines per program")


def main(args: argparse.Namespace) -> int:
    """Prints the table."""
    sizes: list[int] = args.sizes
    measure(100)  # imports, tables and the standard library
    for number, size in enumerate(sizes):
        seconds = measure(size)
        if number == 0:
            print("".join(f"{name:>14}" for name in ("lines", *seconds, "µs per line")))
        cells = [f"{size:>14}", *(f"{s * 1e3:>11.0f} ms" for s in seconds.values())]
        print("".join(cells) + f"{1e6 * (seconds['tree'] + seconds['checks']) / size:>14.0f}")
    return 0
