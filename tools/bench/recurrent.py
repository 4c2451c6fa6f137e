"""Recurrent networks: LSTM, GRU and the plain one, over one sequence and over several, in one direction and in both."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

import numpy as np

from .cases import Case, Graph, Workload, normal
from .engine import add_arguments, run_group

__all__ = ["add_arguments", "cases", "main"]

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass(frozen=True)
class Sizes:
    """`steps` of `batch` sequences; each step is given `inputs` numbers, and a state has `hidden`."""

    operator: str
    steps: int
    batch: int
    inputs: int
    hidden: int
    both: bool = False

    @property
    def operations(self) -> int:
        """Of the products with the inputs and with the state."""
        gates = GATES[self.operator] * self.hidden
        return 2 * self.steps * self.batch * gates * (self.inputs + self.hidden) * (1 + self.both)

    def __str__(self) -> str:
        numbers = f"{self.steps}x{self.batch}x{self.inputs}x{self.hidden}"
        return f"{self.operator.lower()}_{numbers}" + "_both" * self.both


ALONE = (
    Sizes("LSTM", 64, 1, 128, 128),
    Sizes("LSTM", 100, 1, 80, 256),  # frames of speech
    Sizes("LSTM", 64, 1, 512, 512),
    Sizes("LSTM", 25, 1, 512, 256, both=True),  # letters in a line of text
    Sizes("GRU", 64, 1, 128, 128),
    Sizes("GRU", 100, 1, 80, 256),
    Sizes("GRU", 64, 1, 512, 512),
    Sizes("RNN", 64, 1, 128, 128),
    Sizes("RNN", 64, 1, 512, 512),
)
SEVERAL = (
    Sizes("LSTM", 25, 8, 256, 128),
    Sizes("LSTM", 32, 32, 192, 48, both=True),
    Sizes("LSTM", 16, 16, 256, 256),
    Sizes("GRU", 25, 8, 256, 128),
    Sizes("GRU", 16, 16, 256, 256, both=True),
    Sizes("RNN", 25, 8, 256, 128),
)
STEP = (Sizes("LSTM", 1, 1, 128, 128), Sizes("LSTM", 1, 1, 512, 512), Sizes("GRU", 1, 1, 256, 256))


def main(args: argparse.Namespace) -> int:
    """Measures the group."""
    return run_group("recurrent", cases(), args)


def cases() -> list[Case]:
    """All of them: `alone` is one sequence, `several` a batch, `step` one step as a decoder takes it."""
    families = {"alone": ALONE, "several": SEVERAL, "step": STEP}
    return [
        Case(str(sizes), family, partial(network, sizes), operations=sizes.operations)
        for family, group in families.items()
        for sizes in group
    ]


def network(sizes: Sizes) -> Workload:
    """One operator, its states from zero; the output is that of all steps."""
    graph = Graph({"x": normal(0, sizes.steps, sizes.batch, sizes.inputs)})
    directions, gates = 1 + sizes.both, GATES[sizes.operator] * sizes.hidden
    scale = np.float32(sizes.hidden**-0.5)
    w = graph.constant(normal(1, directions, gates, sizes.inputs) * scale)
    r = graph.constant(normal(2, directions, gates, sizes.hidden) * scale)
    bias = graph.constant(normal(3, directions, 2 * gates) * scale)
    direction = "bidirectional" if sizes.both else "forward"
    y = graph.node(sizes.operator, "x", w, r, bias, hidden_size=sizes.hidden, direction=direction)
    return graph.workload(y, np.float32, (sizes.steps, directions, sizes.batch, sizes.hidden))
