"""ATen's recurrent networks, of several layers: each is one of ONNX's, in its order of gates, a loop over time.

PyTorch would write out every step, so that a sequence of a thousand would be a thousand times the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.ir import SSAValue

from ..onnx_to_stablehlo import recurrent as onnx
from .builder import AtenBuilder, Value, shape_of
from .table import lowers

Layer = Callable[..., list[Value]]  # of x, W, R, bias, lengths and the states before: what is seen, and the states


def _relu(b: AtenBuilder, *operands: Any, direction: str) -> list[Value]:
    functions = ["Relu"] * (2 if direction == "bidirectional" else 1)
    return onnx.rnn(b, *operands, direction=direction, activations=functions)


def _network(layer: Layer, gates: Sequence[int]) -> Callable[..., list[Value]]:
    """The lowering of a network of such layers. `gates` says which of PyTorch's each of ONNX's is."""

    def network(
        b: AtenBuilder,
        x: Value,
        hx: Value | Sequence[Value],
        params: Sequence[Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> list[Value]:
        """What the last layer gives at each time, then the last states of all layers, one below the other."""
        if train and dropout and num_layers > 1:
            raise b.fail("dropout between layers is not supported", hint="call .eval() on the model")
        states = [hx] if isinstance(hx, SSAValue) else hx
        directions, own = 1 + bidirectional, 4 if has_biases else 2
        direction = "bidirectional" if bidirectional else "forward"
        x = b.transpose(x, [1, 0, 2]) if batch_first else x
        last: list[list[Value]] = [[] for _ in states]
        for first in range(0, num_layers * directions, directions):
            cells = [params[own * (first + d) : own * (first + d + 1)] for d in range(directions)]
            w, r, *biases = (_stacked(b, [cell[k] for cell in cells], gates) for k in range(own))
            before = [b.slice_axis(state, 0, first, first + directions) for state in states]
            bias = b.concatenate(biases, 1) if biases else None
            y, *after = layer(b, x, w, r, bias, None, *before, direction=direction)
            for kept, state in zip(last, after, strict=True):
                kept.append(state)
            time, _, batch, size = shape_of(y)
            x = b.reshape(b.transpose(y, [0, 2, 1, 3]), [time, batch, directions * size])
        result = b.transpose(x, [1, 0, 2]) if batch_first else x
        return [result, *(b.concatenate(kept, 0) for kept in last)]

    return network


def _stacked(b: AtenBuilder, cells: Sequence[Value], gates: Sequence[int]) -> Value:
    """A parameter of each direction, its gates in another order."""
    size = shape_of(cells[0])[0] // len(gates)
    ordered = [b.concatenate([b.slice_axis(cell, 0, g * size, (g + 1) * size) for g in gates], 0) for cell in cells]
    return b.concatenate([b.expand_dims(cell, [0]) for cell in ordered], 0)


lowers("lstm.input")(_network(onnx.lstm, [0, 3, 1, 2]))  # i, o, f, c of PyTorch's i, f, g, o
lowers("gru.input")(_network(partial(onnx.gru, linear_before_reset=1), [1, 0, 2]))  # z, r, h of r, z, n
lowers("rnn_tanh.input")(_network(onnx.rnn, [0]))
lowers("rnn_relu.input")(_network(_relu, [0]))
