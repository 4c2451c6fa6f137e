"""ATen's recurrent networks, of several layers: each is one of ONNX's, in its order of gates, a loop over time.

PyTorch would write out every step, so that a sequence of a thousand would be a thousand times the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..onnx_to_stablehlo import recurrent as onnx
from .builder import AtenBuilder, Value, shape_of
from .table import lowers

Layer = Callable[..., list[Value]]  # of x, W, R, bias and the states before: what is seen at each time, and the states


@lowers("lstm.input")
def lstm(
    b: AtenBuilder,
    x: Value,
    hx: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Value]:
    def layer(x: Value, w: Value, r: Value, bias: Value | None, h: Value, c: Value, direction: str) -> list[Value]:
        return onnx.lstm(b, x, w, r, bias, None, h, c, direction=direction)

    gates = [0, 3, 1, 2]  # i, o, f, c of PyTorch's i, f, g, o
    return _layers(b, x, hx, params, gates, layer, has_biases, num_layers, dropout, train, bidirectional, batch_first)


@lowers("gru.input")
def gru(
    b: AtenBuilder,
    x: Value,
    hx: Value,
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Value]:
    def layer(x: Value, w: Value, r: Value, bias: Value | None, h: Value, direction: str) -> list[Value]:
        return onnx.gru(b, x, w, r, bias, None, h, direction=direction, linear_before_reset=1)

    gates = [1, 0, 2]  # z, r, h of PyTorch's r, z, n
    return _layers(b, x, [hx], params, gates, layer, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def _plain(function: str) -> Callable[..., list[Value]]:
    """The lowering of the network whose states go through a function of ONNX's."""

    def rnn(
        b: AtenBuilder,
        x: Value,
        hx: Value,
        params: Sequence[Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> list[Value]:
        def layer(x: Value, w: Value, r: Value, bias: Value | None, h: Value, direction: str) -> list[Value]:
            functions = [function] * (1 + bidirectional)
            return onnx.rnn(b, x, w, r, bias, None, h, activations=functions, direction=direction)

        return _layers(
            b, x, [hx], params, [0], layer, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )

    return rnn


for _name, _function in (("rnn_tanh.input", "Tanh"), ("rnn_relu.input", "Relu")):
    lowers(_name)(_plain(_function))


def _layers(
    b: AtenBuilder,
    x: Value,
    states: Sequence[Value],
    params: Sequence[Value],
    gates: Sequence[int],
    layer: Layer,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Value]:
    """What the last layer gives at each time, then the last states of all layers, one below the other.

    `gates` says which of PyTorch's each of ONNX's is. Raises LaminaError for dropout between layers.
    """
    if train and dropout and num_layers > 1:
        raise b.fail("dropout between layers is not supported", hint="call .eval() on the model")
    directions, own = 1 + bidirectional, 4 if has_biases else 2
    direction = "bidirectional" if bidirectional else "forward"
    x = b.transpose(x, [1, 0, 2]) if batch_first else x
    last: list[list[Value]] = [[] for _ in states]
    for i in range(num_layers):
        first = i * directions
        cells = [params[own * (first + d) : own * (first + d + 1)] for d in range(directions)]
        w, r, *biases = (_stacked(b, [cell[k] for cell in cells], gates) for k in range(own))
        before = [b.slice_axis(state, 0, first, first + directions) for state in states]
        y, *after = layer(x, w, r, b.concatenate(biases, 1) if biases else None, *before, direction=direction)
        for kept, state in zip(last, after, strict=True):
            kept.append(state)
        time, _, batch, size = shape_of(y)
        x = b.reshape(b.transpose(y, [0, 2, 1, 3]), [time, batch, directions * size])
    result = b.transpose(x, [1, 0, 2]) if batch_first else x
    return [result, *(b.concatenate(kept, 0) for kept in last)]


def _stacked(b: AtenBuilder, cells: Sequence[Value], gates: Sequence[int]) -> Value:
    """A parameter of each direction, its gates in another order."""
    size = shape_of(cells[0])[0] // len(gates)
    ordered = [b.concatenate([b.slice_axis(cell, 0, g * size, (g + 1) * size) for g in gates], 0) for cell in cells]
    return b.concatenate([b.expand_dims(cell, [0]) for cell in ordered], 0)
