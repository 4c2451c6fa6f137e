"""ONNX's recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

from .builder import GraphBuilder, Value, shape_of
from .loops import State
from .recurrence import Functions, Step, gates_of, halves, hidden, part, products, run_cells, run_lstm
from .table import lowers


@lowers("RNN", since=7)
def rnn(
    b: GraphBuilder,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
) -> list[Value]:
    size = hidden(b, 1, x, w, r, bias, [initial_h], hidden_size, layout)
    attributes = Functions(activations, activation_alpha, activation_beta, clip)
    functions, recurrent = attributes.of(b, ["Tanh"], shape_of(w)[0]), products(b, r)

    def cell(d: int) -> Step:
        function = attributes.of_gates(functions[d])
        return lambda b, given, state: [function(b, b.add(given[0], recurrent[d](b, state[0])))]

    total = None if bias is None else b.add(*halves(b, bias))
    return run_cells(
        b,
        x,
        products(b, w),
        total,
        sequence_lens,
        [initial_h],
        cell,
        direction=direction,
        hidden_size=size,
        layout=layout,
    )


@lowers("GRU", since=7)
def gru(
    b: GraphBuilder,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> list[Value]:
    size = hidden(b, 3, x, w, r, bias, [initial_h], hidden_size, layout)
    attributes = Functions(activations, activation_alpha, activation_beta, clip)
    functions = attributes.of(b, ["Sigmoid", "Tanh"], shape_of(w)[0])
    input_bias, recurrent_bias = (None, None) if bias is None else halves(b, bias)

    def cell(d: int) -> Step:
        f, g = (attributes.of_gates(function) for function in functions[2 * d : 2 * d + 2])
        weights = part(b, r, d)  # gates z, r, h one below the other
        gates, candidate = b.slice_axis(weights, 0, 0, 2 * size), b.slice_axis(weights, 0, 2 * size, 3 * size)
        extra = None if recurrent_bias is None else part(b, recurrent_bias, d)
        of_gates = None if extra is None else b.slice_axis(extra, 0, 0, 2 * size)
        of_candidate = None if extra is None else b.slice_axis(extra, 0, 2 * size, 3 * size)

        def step(b: GraphBuilder, given: list[Value], state: State) -> State:
            (h,) = state
            recurrent = b.dot(h, gates, ([1], [1]))
            if of_gates is not None:
                recurrent = b.add(recurrent, of_gates)
            xz, xr, xh = given
            hz, hr = gates_of(b, recurrent, 2)
            update, reset = f(b, b.add(xz, hz)), f(b, b.add(xr, hr))
            product = b.dot(h if linear_before_reset else b.multiply(reset, h), candidate, ([1], [1]))
            product = product if of_candidate is None else b.add(product, of_candidate)
            new = g(b, b.add(xh, b.multiply(reset, product) if linear_before_reset else product))
            return [b.add(b.multiply(b.subtract(1.0, update), new), b.multiply(update, h))]

        return step

    return run_cells(
        b,
        x,
        products(b, w),
        input_bias,
        sequence_lens,
        [initial_h],
        cell,
        direction=direction,
        hidden_size=size,
        layout=layout,
    )


@lowers("LSTM", since=7)
def lstm(
    b: GraphBuilder,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    initial_c: Value | None = None,
    peepholes: Value | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
) -> list[Value]:
    return run_lstm(
        b,
        x,
        products(b, w),
        products(b, r),
        bias,
        sequence_lens,
        [initial_h, initial_c],
        peepholes,
        Functions(activations, activation_alpha, activation_beta, clip),
        direction=direction,
        hidden_size=hidden(b, 4, x, w, r, bias, [initial_h, initial_c], hidden_size, layout),
        input_forget=bool(input_forget),
        layout=layout,
    )
