"""erf and tanh in f32 where registers hold tables: sixteen polynomials, of which each lane takes the one next to it.

|x| = k w + r with |r| <= w/2, and the result is c0[k] + c1[k] r + c2[k] r^2 + ...: k looks each coefficient up in a
register of sixteen. No exponential, no division; of GELU on Zen 4 half the time.
The polynomial at 0 is odd, so that small results are as exact as large ones; the last one ends at 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, f32
from xdsl.ir import SSAValue

from ...dialects import arith, vector
from ...dialects.avx512 import LANES, PermuteOp
from .numbers import Numbers

# coefficients by degree, each at 0, 1/4, 2/4, ... (least squares, reweighted towards Remez; c0 is rounded first)
_ERF = (
    (
        *(0.0, 0.2763264, 0.5204999, 0.71115565, 0.8427008, 0.92290014, 0.96610516, 0.9866717, 0.9953223),
        *(0.9985373, 0.999593, 0.9998994, 0.9999779, 0.9999957, 0.9999993, 0.9999999),
    ),
    (
        *(1.1283791, 1.0600142, 0.87878263, 0.6429311, 0.4151075, 0.23652112, 0.11893029, 0.052774996),
        *(0.020666987, 0.0071423193, 0.002178284, 0.0005862772, 0.00013925305, 2.9189025e-05),
        *(5.3994268e-06, 1.0235842e-06),
    ),
    (
        *(0.0, -0.26499876, -0.43938833, -0.48220435, -0.41510132, -0.29565975, -0.17840594, -0.09236478),
        *(-0.041345067, -0.016079167, -0.0054311147, -0.0016166996, -0.00040624946, -0.00010045709),
        *(-3.2816766e-05, 8.328478e-06),
    ),
    (
        *(-0.3761227, -0.30919176, -0.1464787, 0.0267772, 0.13837057, 0.16753383, 0.13875145, 0.09015756),
        *(0.048223145, 0.02172457, 0.008350057, 0.0027603053, 0.00078905467, 0.00019578863),
        *(4.228827e-05, 7.96762e-06),
    ),
    (
        *(0.0, 0.12607679, 0.18212113, 0.15065129, 0.06886294, -0.005296532, -0.043627564, -0.047417972),
        *(-0.0337309, -0.018558836, -0.009595601, -0.0030015558, -0.0017889094, 6.541531e-05),
        *(0.0008173733, -0.0007549648),
    ),
    (
        *(0.112210274, 0.08088647, 0.008263739, -0.05221606, -0.069037706, -0.046998523, -0.014904955),
        *(0.006512005, 0.013024742, 0.010646034, 0.006127876, 0.0027712234, 0.0010255967, 0.0003178107),
        *(8.349313e-05, 1.8754647e-05),
    ),
)
# the same at 0, 19/32, 2 (19/32), ...
_TANH = (
    (
        *(0.0, 0.5325873, 0.8298019, 0.94482946, 0.982845, 0.9947367, 0.9983918, 0.9995093, 0.99985033),
        *(0.99995434, 0.99998605, 0.99999577, 0.9999987, 0.9999996, 0.9999999, 0.99999994),
    ),
    (
        *(1.0, 0.7163508, 0.3114288, 0.10729734, 0.034015648, 0.010498993, 0.0032137574, 0.0009812372),
        *(0.00029936252, 9.130991e-05, 2.784883e-05, 8.493496e-06, 2.5903776e-06, 7.900212e-07),
        *(2.4094294e-07, 1.2994967e-07),
    ),
    (
        *(0.0, -0.38152015, -0.25842586, -0.10138323, -0.033427954, -0.010447603, -0.0032043918, -0.0009835326),
        *(-0.00030434292, -9.1073685e-05, -2.3265677e-05, -1.1451087e-05, 6.236603e-07, 3.6426459e-06),
        *(-4.9271455e-07, 7.830922e-06),
    ),
    (
        *(-0.33332986, -0.035593368, 0.110631, 0.060018163, 0.021520173, 0.0068890583, 0.0021321906),
        *(0.0006531925, 0.00019948388, 6.086496e-05, 1.8565244e-05, 5.6622334e-06, 1.7269203e-06),
        *(5.2668383e-07, 1.6062853e-07, 4.8989538e-08),
    ),
    (
        *(0.0, 0.14616042, -0.0055999113, -0.02275269, -0.0101323025, -0.0032551102, -0.0011854616),
        *(-0.00024238323, 5.1521074e-05, -3.7407357e-05, -0.00014716847, 8.6158565e-05, -9.756775e-05),
        *(-0.00013363405, 7.4950326e-06, -0.00023785343),
    ),
    (
        *(0.13313422, -0.04992816, -0.025261542, 0.004050492, 0.0034137755, 0.0012920692, 0.00041777678),
        *(0.00012994817, 3.9869916e-05, 1.2165074e-05, 3.7082848e-06, 1.1331131e-06, 3.4510347e-07),
        *(1.0522217e-07, 3.2125847e-08, 9.7797015e-09),
    ),
    (
        *(0.0, -0.030945934, 0.016426481, 0.00044179964, 0.00018920025, -0.0012722668, 0.0008157804),
        *(-0.00067376875, -0.0011540921, 4.8580245e-05, 0.0010390306, -0.0006717583, 0.0007294648),
        *(0.0010061736, -5.7162626e-05, 0.0017942855),
    ),
    (
        *(-0.05029635, 0.028717134, -0.0037192742, -0.0019132282, 4.4555625e-05, 8.091248e-05, 4.0120576e-05),
        *(1.1546263e-05, 3.4498935e-06, 1.1723791e-06, 3.8662674e-07, 1.0301224e-07, 3.51595e-08),
        *(1.0949954e-08, 3.075966e-09, 1.07639e-09),
    ),
)


def erf(e: Numbers, x: SSAValue) -> SSAValue:
    """The error function; beyond 3.87 it is 1 in f32."""
    return _odd(e, x, _ERF, width=1 / 4, end=3.87)


def tanh(e: Numbers, x: SSAValue) -> SSAValue:
    """The hyperbolic tangent; beyond 9.15 it is 1 in f32."""
    return _odd(e, x, _TANH, width=19 / 32, end=9.15)


def _odd(e: Numbers, x: SSAValue, tables: Sequence[Sequence[float]], width: float, end: float) -> SSAValue:
    """The function of `tables`, whose entries are `width` apart; from `end` on it is what it is there."""
    if not isinstance(e.type, VectorType):
        alone = VectorType(f32, [1])
        result = _odd(Numbers(e.b, alone), e.b(vector.BroadcastOp(x, alone)).vector, tables, width, end)
        return e.b(vector.ExtractOp(result, [0], f32)).result
    a = e.at_most(e.abs(x), end)
    ones = 1.5 * 2.0**e.mantissa_bits  # a float whose last bit is 1
    if math.log2(width).is_integer():
        magic = e.c(ones * width)
        moved = e.add(a, magic)
        r = e.sub(a, e.sub(moved, magic))
    else:
        magic = e.c(ones)
        moved = e.fma(a, e.c(1 / width), magic)
        r = e.fma(e.sub(moved, magic), e.c(-width), a)
    index = e.bits(moved)
    *lower, result = (e.b(PermuteOp(_register(e, table), index)).result for table in tables)
    for coefficient in reversed(lower):
        result = e.fma(result, r, coefficient)
    return e.copysign(result, x)


def _register(e: Numbers, numbers: Sequence[float]) -> SSAValue:
    return e.b(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(VectorType(f32, [LANES]), list(numbers)))).result
