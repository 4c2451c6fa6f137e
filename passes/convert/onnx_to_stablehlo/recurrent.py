"""ONNX's recurrent networks: one contraction for the products with all inputs, then a loop over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .activation import softplus, softsign
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .loops import Row, State, counted_loop
from .table import lowers

Activation = Callable[[GraphBuilder, Value], Value]
Step = Callable[[GraphBuilder, list[Value], State], State]  # of what the inputs give each gate, and the state

_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": lambda b, x: b(hlo.LogisticOp(x)),
    "tanh": lambda b, x: b(hlo.TanhOp(x)),
    "relu": lambda b, x: b.maximum(x, 0.0),
    "softsign": softsign,
    "softplus": softplus,
}


def _activations(
    b: GraphBuilder, names: Sequence[str] | None, default: Sequence[str], directions: int
) -> list[Activation]:
    chosen = list(names) if names else [*default] * directions
    unknown = [name for name in chosen if name.lower() not in _ACTIVATIONS]
    if unknown or len(chosen) != len(default) * directions:
        raise b.fail(f"activations {chosen} are not supported, only {', '.join(sorted(_ACTIVATIONS))}")
    return [_ACTIVATIONS[name.lower()] for name in chosen]


def _gates(b: GraphBuilder, x: Value, count: int) -> list[Value]:
    """`x` cut into `count` equal parts along its last axis."""
    axis = len(shape_of(x)) - 1
    size = shape_of(x)[axis] // count
    return [b.slice_axis(x, axis, i * size, (i + 1) * size) for i in range(count)]


def _run(
    b: GraphBuilder,
    x: Value,
    w: Value,
    bias: Value | None,
    lengths: Value | None,
    initial: Sequence[Value | None],
    cell: Callable[[int], Step],
    *,
    direction: str,
    hidden_size: int,
    layout: int,
) -> list[Value]:
    """Runs `cell(d)(gates of x_t * W + bias, state)` over time in each direction d; gives Y, then the last states."""
    if layout:
        x = b.transpose(x, [1, 0, 2])
        initial = [None if s is None else b.transpose(s, [1, 0, 2]) for s in initial]
    time, batch, _ = shape_of(x)
    directions = shape_of(w)[0]
    if direction not in ("forward", "reverse", "bidirectional") or directions != 1 + (direction == "bidirectional"):
        raise b.fail(f"direction '{direction}' does not fit weights of shape {list(shape_of(w))}")
    known = None if lengths is None else b.constant_value(lengths)
    if known is not None and (known == time).all():
        lengths = None
    zero = b.broadcast_to(b.scalar(0, element_of(x)), [batch, hidden_size])
    columns: list[Value] = []
    last: list[State] = []
    for d in range(directions):
        inputs = b.dot(x, _part(b, w, d), ([2], [1]))
        if bias is not None:
            inputs = b.add(inputs, _part(b, bias, d))
        start = [zero if s is None else _part(b, s, d) for s in initial]
        y, *final = _over_time(b, inputs, lengths, start, cell(d), backwards=direction == "reverse" or d == 1)
        columns.append(b.expand_dims(y, [1]))
        last.append(final)
    finals = [b.concatenate([b.expand_dims(state[i], [0]) for state in last], 0) for i in range(len(initial))]
    y = b.concatenate(columns, 1)
    if layout:
        return [b.transpose(y, [2, 0, 1, 3]), *(b.transpose(f, [1, 0, 2]) for f in finals)]
    return [y, *finals]


def _over_time(
    b: GraphBuilder, inputs: Value, lengths: Value | None, start: State, step: Step, *, backwards: bool
) -> Sequence[Value]:
    """The first part of the state at each time (zeros behind what has ended), then the state after the last."""
    time = shape_of(inputs)[0]

    def run(inner: GraphBuilder, t: Value, state: State) -> tuple[Value, State]:
        following = step(inner, _given(inner, inputs, t, shape_of(start[0])), state)
        if lengths is None:
            return following[0], following
        runs = inner.expand_dims(inner.compare(lengths, inner.convert(t, element_of(lengths)), "GT"), [1])
        kept = [inner.select(runs, new, old) for new, old in zip(following, state, strict=True)]
        return inner.select(runs, following[0], 0.0), kept

    if time == 1:
        visible, state = run(b, b.scalar(0, i64), start)
        return [b.expand_dims(visible, [0]), *state]
    nothing = b.broadcast_to(b.scalar(0, element_of(inputs)), [time, *shape_of(start[0])])
    if not time:
        return [nothing, *start]
    seen = b.wanted[0]

    def iteration(inner: GraphBuilder, i: Value, state: State) -> tuple[State, Sequence[Row]]:
        t = inner.subtract(time - 1, i) if backwards else i
        visible, following = run(inner, t, state)
        return following, [Row(visible, backwards=backwards)] if seen else []

    state, stacked = counted_loop(b, time, start, iteration)
    return [stacked[0] if seen else nothing, *state]


def _given(b: GraphBuilder, inputs: Value, t: Value, shape: Sequence[int]) -> list[Value]:
    """What the inputs at time `t` give each gate, in the shape of a state."""
    batch, size = shape
    zero = b.scalar(0, i64)
    starts = [[t, zero, b.scalar(first, i64)] for first in range(0, shape_of(inputs)[2], size)]
    parts = [b(hlo.DynamicSliceOp(inputs, start, slice_sizes=[1, batch, size])) for start in starts]
    return [b.reshape(part, shape) for part in parts]


def _hidden(
    b: GraphBuilder,
    gates: int,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None,
    states: Sequence[Value | None],
    hidden_size: int | None,
    layout: int,
) -> int:
    """The number of hidden units. Raises LaminaError where the shapes of operands do not go together."""
    if rank_of(x) != 3 or rank_of(w) != 3 or rank_of(r) != 3:
        raise b.fail(f"X, W and R need three dimensions, got {[list(shape_of(v)) for v in (x, w, r)]}")
    size, directions = hidden_size or shape_of(r)[2], shape_of(w)[0]
    batch = shape_of(x)[0 if layout else 1]
    state = (batch, directions, size) if layout else (directions, batch, size)
    expected = {
        "W": (w, (directions, gates * size, shape_of(x)[2])),
        "R": (r, (directions, gates * size, size)),
        "B": (bias, (directions, 2 * gates * size)),
        **{f"initial_{'hc'[i]}": (value, state) for i, value in enumerate(states)},
    }
    for name, (value, shape) in expected.items():
        if value is not None and shape_of(value) != shape:
            raise b.fail(f"{name} has the shape {list(shape_of(value))}, expected {list(shape)}")
    return size


def _part(b: GraphBuilder, x: Value, index: int) -> Value:
    return b.reshape(b.slice_axis(x, 0, index, index + 1), shape_of(x)[1:])


def _halves(b: GraphBuilder, bias: Value) -> tuple[Value, Value]:
    """The biases of the input products and of the recurrent ones."""
    half = shape_of(bias)[1] // 2
    return b.slice_axis(bias, 1, 0, half), b.slice_axis(bias, 1, half, 2 * half)


def _refuse(b: GraphBuilder, **values: object) -> None:
    for name, value in values.items():
        if value:
            raise b.fail(f"attribute '{name}' is not supported")


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
    _refuse(b, clip=clip, activation_alpha=activation_alpha, activation_beta=activation_beta)
    size = _hidden(b, 1, x, w, r, bias, [initial_h], hidden_size, layout)
    functions = _activations(b, activations, ["Tanh"], shape_of(w)[0])

    def cell(d: int) -> Step:
        weights = _part(b, r, d)

        def step(b: GraphBuilder, given: list[Value], state: State) -> State:
            return [functions[d](b, b.add(given[0], b.dot(state[0], weights, ([1], [1]))))]

        return step

    total = None if bias is None else b.add(*_halves(b, bias))
    return _run(b, x, w, total, sequence_lens, [initial_h], cell, direction=direction, hidden_size=size, layout=layout)


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
    _refuse(b, clip=clip, activation_alpha=activation_alpha, activation_beta=activation_beta)
    size = _hidden(b, 3, x, w, r, bias, [initial_h], hidden_size, layout)
    functions = _activations(b, activations, ["Sigmoid", "Tanh"], shape_of(w)[0])
    input_bias, recurrent_bias = (None, None) if bias is None else _halves(b, bias)

    def cell(d: int) -> Step:
        f, g = functions[2 * d : 2 * d + 2]
        weights = _part(b, r, d)  # gates z, r, h one below the other
        gates, candidate = b.slice_axis(weights, 0, 0, 2 * size), b.slice_axis(weights, 0, 2 * size, 3 * size)
        extra = None if recurrent_bias is None else _part(b, recurrent_bias, d)
        of_gates = None if extra is None else b.slice_axis(extra, 0, 0, 2 * size)
        of_candidate = None if extra is None else b.slice_axis(extra, 0, 2 * size, 3 * size)

        def step(b: GraphBuilder, given: list[Value], state: State) -> State:
            (h,) = state
            recurrent = b.dot(h, gates, ([1], [1]))
            if of_gates is not None:
                recurrent = b.add(recurrent, of_gates)
            xz, xr, xh = given
            hz, hr = _gates(b, recurrent, 2)
            update, reset = f(b, b.add(xz, hz)), f(b, b.add(xr, hr))
            product = b.dot(h if linear_before_reset else b.multiply(reset, h), candidate, ([1], [1]))
            product = product if of_candidate is None else b.add(product, of_candidate)
            new = g(b, b.add(xh, b.multiply(reset, product) if linear_before_reset else product))
            return [b.add(b.multiply(b.subtract(1.0, update), new), b.multiply(update, h))]

        return step

    return _run(
        b, x, w, input_bias, sequence_lens, [initial_h], cell, direction=direction, hidden_size=size, layout=layout
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
    _refuse(
        b,
        clip=clip,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        input_forget=input_forget,
    )
    size = _hidden(b, 4, x, w, r, bias, [initial_h, initial_c], hidden_size, layout)
    if peepholes is not None and shape_of(peepholes) != (shape_of(w)[0], 3 * size):
        raise b.fail(f"P has the shape {list(shape_of(peepholes))}, expected {[shape_of(w)[0], 3 * size]}")
    functions = _activations(b, activations, ["Sigmoid", "Tanh", "Tanh"], shape_of(w)[0])

    def cell(d: int) -> Step:
        f, g, out = functions[3 * d : 3 * d + 3]
        weights = _part(b, r, d)
        holes = None if peepholes is None else _gates(b, _part(b, peepholes, d), 3)

        def step(b: GraphBuilder, given: list[Value], state: State) -> State:
            h, c = state
            recurrent = _gates(b, b.dot(h, weights, ([1], [1])), 4)
            i, o, forget, new = (b.add(x, y) for x, y in zip(given, recurrent, strict=True))
            if holes is not None:
                i, forget = b.add(i, b.multiply(holes[0], c)), b.add(forget, b.multiply(holes[2], c))
            c = b.add(b.multiply(f(b, forget), c), b.multiply(f(b, i), g(b, new)))
            if holes is not None:
                o = b.add(o, b.multiply(holes[1], c))
            return [b.multiply(f(b, o), out(b, c)), c]

        return step

    total = None if bias is None else b.add(*_halves(b, bias))
    return _run(
        b,
        x,
        w,
        total,
        sequence_lens,
        [initial_h, initial_c],
        cell,
        direction=direction,
        hidden_size=size,
        layout=layout,
    )
