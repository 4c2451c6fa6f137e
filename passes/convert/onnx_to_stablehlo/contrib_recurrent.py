"""Recurrent networks of com.microsoft: LSTM with weights of eight bits, its operands quantised on the way."""

from __future__ import annotations

from collections.abc import Sequence

from .builder import GraphBuilder, Value, rank_of, shape_of
from .contrib import MICROSOFT
from .contrib_quantized import dynamic_quantize_matmul
from .recurrence import Functions, Product, hidden, part, run_lstm
from .table import lowers


@lowers("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(
    b: GraphBuilder,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None,
    sequence_lens: Value | None,
    initial_h: Value | None,
    initial_c: Value | None,
    peepholes: Value | None,
    w_scale: Value,
    w_zero: Value,
    r_scale: Value,
    r_zero: Value,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> list[Value]:
    """The inputs, all at once, and the state, step by step, are quantised as DynamicQuantizeLinear does it.

    Weights lie transposed: W is [directions, inputs, 4 * hidden], R [directions, hidden, 4 * hidden]; scales and zero
    points are one for each direction, or for each of its columns.
    """
    if rank_of(w) != 3 or rank_of(r) != 3:
        raise b.fail(f"W and R need three dimensions, got {[list(shape_of(v)) for v in (w, r)]}")
    rows_w, rows_r = (b.transpose(v, [0, 2, 1]) for v in (w, r))
    return run_lstm(
        b,
        x,
        _products(b, w, w_scale, w_zero),
        _products(b, r, r_scale, r_zero),
        bias,
        sequence_lens,
        [initial_h, initial_c],
        peepholes,
        Functions(activations, activation_alpha, activation_beta, clip),
        direction=direction,
        hidden_size=hidden(b, 4, x, rows_w, rows_r, bias, [initial_h, initial_c], hidden_size, 0),
        input_forget=bool(input_forget),
        layout=0,
    )


def _products(b: GraphBuilder, weights: Value, scale: Value, zero: Value) -> list[Product]:
    directions, _, columns = shape_of(weights)
    for what, value in (("scales", scale), ("zero points", zero)):
        if shape_of(value) not in ((directions,), (directions, columns)):
            raise b.fail(f"{what} of the shape {list(shape_of(value))} do not fit weights {list(shape_of(weights))}")

    def product(d: int) -> Product:
        own, *numbers = (part(b, value, d) for value in (weights, scale, zero))
        return lambda inner, x: dynamic_quantize_matmul(inner, x, own, *numbers)

    return [product(d) for d in range(directions)]
