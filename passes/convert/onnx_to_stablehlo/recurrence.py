"""What recurrent networks have in common: one contraction with all inputs, then a loop over time, in each direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .activation import elu, hard_sigmoid, leaky_relu, relu, sigmoid, softplus, softsign, tanh, thresholded_relu
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .loops import Row, State, counted_loop

Activation = Callable[[GraphBuilder, Value], Value]
Step = Callable[[GraphBuilder, list[Value], State], State]  # of what the inputs give each gate, and the state

Product = Callable[[GraphBuilder, Value], Value]  # of rows with weights, in the order of gates

_ACTIVATIONS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {  # and what alpha and beta are called there
    "affine": (lambda b, x, *, alpha=1.0, beta=0.0: b.add(b.multiply(x, alpha), beta), ("alpha", "beta")),
    "elu": (elu, ("alpha",)),
    "hardsigmoid": (hard_sigmoid, ("alpha", "beta")),
    "leakyrelu": (leaky_relu, ("alpha",)),
    "relu": (relu, ()),
    "scaledtanh": (
        lambda b, x, *, alpha=1.0, beta=1.0: b.multiply(tanh(b, b.multiply(x, beta)), alpha),
        ("alpha", "beta"),
    ),
    "sigmoid": (sigmoid, ()),
    "softplus": (softplus, ()),
    "softsign": (softsign, ()),
    "tanh": (tanh, ()),
    "thresholdedrelu": (thresholded_relu, ("alpha",)),
}


@dataclass(frozen=True)
class Functions:
    """The attributes of a recurrent operator that say what its activation functions are."""

    activations: Sequence[str] | None
    activation_alpha: Sequence[float] | None
    activation_beta: Sequence[float] | None
    clip: float | None

    def of(self, b: GraphBuilder, default: Sequence[str], directions: int) -> list[Activation]:
        """One function after the other for each direction; each takes those of alpha and beta that it has in turn.

        Raises LaminaError for names that are none of ONNX's, and for too few.
        """
        chosen = list(self.activations) if self.activations else [*default] * directions
        unknown = [name for name in chosen if name.lower() not in _ACTIVATIONS]
        if unknown or len(chosen) != len(default) * directions:
            raise b.fail(
                f"activations {chosen} are not supported, only {len(default) * directions} of "
                f"{', '.join(sorted(_ACTIVATIONS))}"
            )
        left = {"alpha": list(self.activation_alpha or ()), "beta": list(self.activation_beta or ())}
        functions: list[Activation] = []
        for name in chosen:
            function, numbers = _ACTIVATIONS[name.lower()]
            functions.append(partial(function, **{word: left[word].pop(0) for word in numbers if left[word]}))
        return functions

    def of_gates(self, function: Activation) -> Activation:
        """The function of what is clipped. That of an LSTM's state is not, in ONNX Runtime and OpenVINO neither."""
        limit = self.clip or 0.0
        if not limit:
            return function
        return lambda b, x: function(b, b.minimum(b.maximum(x, -limit), limit))


def gates_of(b: GraphBuilder, x: Value, count: int) -> list[Value]:
    """`x` cut into `count` equal parts along its last axis."""
    axis = len(shape_of(x)) - 1
    size = shape_of(x)[axis] // count
    return [b.slice_axis(x, axis, i * size, (i + 1) * size) for i in range(count)]


def run_cells(
    b: GraphBuilder,
    x: Value,
    of_inputs: Sequence[Product],
    bias: Value | None,
    lengths: Value | None,
    initial: Sequence[Value | None],
    cell: Callable[[int], Step],
    *,
    direction: str,
    hidden_size: int,
    layout: int,
) -> list[Value]:
    """Runs `cell(d)(gates of x_t * W + bias, state)` over time in each direction d; gives Y, then the last states.

    `of_inputs[d]` multiplies all inputs with W.
    """
    if layout:
        x = b.transpose(x, [1, 0, 2])
        initial = [None if s is None else b.transpose(s, [1, 0, 2]) for s in initial]
    time, batch, _ = shape_of(x)
    directions = len(of_inputs)
    if direction not in ("forward", "reverse", "bidirectional") or directions != 1 + (direction == "bidirectional"):
        raise b.fail(f"direction '{direction}' does not fit weights for {directions} directions")
    known = None if lengths is None else b.constant_value(lengths)
    if known is not None and (known == time).all():
        lengths = None
    zero = b.broadcast_to(b.scalar(0, element_of(x)), [batch, hidden_size])
    columns: list[Value] = []
    last: list[State] = []
    for d in range(directions):
        inputs = of_inputs[d](b, x)
        if bias is not None:
            inputs = b.add(inputs, part(b, bias, d))
        start = [zero if s is None else part(b, s, d) for s in initial]
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

    def advance(inner: GraphBuilder, t: Value, state: State) -> tuple[Value, State]:
        following = step(inner, _given(inner, inputs, t, shape_of(start[0])), state)
        if lengths is None:
            return following[0], following
        runs = inner.expand_dims(inner.compare(lengths, inner.convert(t, element_of(lengths)), "GT"), [1])
        kept = [inner.select(runs, new, old) for new, old in zip(following, state, strict=True)]
        return inner.select(runs, following[0], 0.0), kept

    if time == 1:
        visible, state = advance(b, b.scalar(0, i64), start)
        return [b.expand_dims(visible, [0]), *state]
    nothing = b.broadcast_to(b.scalar(0, element_of(inputs)), [time, *shape_of(start[0])])
    if not time:
        return [nothing, *start]
    seen = b.wanted[0]

    def iteration(inner: GraphBuilder, i: Value, state: State) -> tuple[State, Sequence[Row]]:
        t = inner.subtract(time - 1, i) if backwards else i
        visible, following = advance(inner, t, state)
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


def hidden(
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


def part(b: GraphBuilder, x: Value, index: int) -> Value:
    return b.reshape(b.slice_axis(x, 0, index, index + 1), shape_of(x)[1:])


def halves(b: GraphBuilder, bias: Value) -> tuple[Value, Value]:
    """The biases of the input products and of the recurrent ones."""
    half = shape_of(bias)[1] // 2
    return b.slice_axis(bias, 1, 0, half), b.slice_axis(bias, 1, half, 2 * half)


def products(b: GraphBuilder, weights: Value) -> list[Product]:
    """The product of the last dimension of rows with the weights of each direction."""
    parts = [part(b, weights, d) for d in range(shape_of(weights)[0])]
    return [lambda b, x, part=part: b.dot(x, part, ([rank_of(x) - 1], [1])) for part in parts]


def run_lstm(
    b: GraphBuilder,
    x: Value,
    of_inputs: Sequence[Product],
    of_states: Sequence[Product],
    bias: Value | None,
    sequence_lens: Value | None,
    initial: Sequence[Value | None],
    peepholes: Value | None,
    attributes: Functions,
    *,
    direction: str,
    hidden_size: int,
    input_forget: bool,
    layout: int,
) -> list[Value]:
    """An LSTM by its products with the inputs and with the state, of each direction, in the order of gates i, o, f, c.

    With `input_forget` the gates i and f are coupled: f = 1 - i.
    """
    directions = len(of_inputs)
    if peepholes is not None and shape_of(peepholes) != (directions, 3 * hidden_size):
        raise b.fail(f"P has the shape {list(shape_of(peepholes))}, expected {[directions, 3 * hidden_size]}")
    functions = attributes.of(b, ["Sigmoid", "Tanh", "Tanh"], directions)

    def cell(d: int) -> Step:
        f, g = (attributes.of_gates(function) for function in functions[3 * d : 3 * d + 2])
        out = functions[3 * d + 2]
        holes = None if peepholes is None else gates_of(b, part(b, peepholes, d), 3)

        def step(b: GraphBuilder, given: list[Value], state: State) -> State:
            h, c = state
            recurrent = gates_of(b, of_states[d](b, h), 4)
            i, o, forget, new = (b.add(x, y) for x, y in zip(given, recurrent, strict=True))
            if holes is not None:
                i, forget = b.add(i, b.multiply(holes[0], c)), b.add(forget, b.multiply(holes[2], c))
            opened = f(b, i)
            kept = b.subtract(1.0, opened) if input_forget else f(b, forget)
            c = b.add(b.multiply(kept, c), b.multiply(opened, g(b, new)))
            if holes is not None:
                o = b.add(o, b.multiply(holes[1], c))
            return [b.multiply(f(b, o), out(b, c)), c]

        return step

    total = None if bias is None else b.add(*halves(b, bias))
    return run_cells(
        b,
        x,
        of_inputs,
        total,
        sequence_lens,
        initial,
        cell,
        direction=direction,
        hidden_size=hidden_size,
        layout=layout,
    )
