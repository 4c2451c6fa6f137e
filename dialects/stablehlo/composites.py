"""Composites that passes know by name. Whoever does not know them finds what they mean in their decomposition."""

MATMUL_NBITS = "lamina.matmul_nbits"
"""(x, packed, scales[, zeros]) {bits, block_size, accuracy_level}: ONNX Runtime's MatMulNBits on rows of f32.

x is [M, K] of f32; packed [N, blocks, block_size * bits / 8] of ui8, the first element of each byte in its lowest bits;
scales [N, blocks]; zeros [N, blocks] in the scales' type, else 2^(bits - 1). With an accuracy_level of 4 each block of
x is rounded to signed bytes times a scale.
"""

GROUPED_MATMUL_NBITS = "lamina.grouped_matmul_nbits"
"""(x, sizes, packed, scales[, zeros]) with the same attributes: rows of groups, each by a matrix of its own.

sizes [G] of i32 says how many rows each group has, one after the other; the others have a dimension of G in front.
"""

TOP_K = "lamina.top_k"
"""(x) {k, axis, largest} -> (values, i64 places): ONNX's TopK, of numbers of at most 32 bits.

The first `k` along a dimension, in order, of equals the one of the lower place; NaN is larger than all numbers, and
zeros are equal.
"""

MOST_PLACES = 1 << 20
"""Elements along the dimension of TOP_K at most."""
