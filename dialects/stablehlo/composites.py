"""Composites that passes know by name. Whoever does not know them finds what they mean in their decomposition."""

MATMUL_NBITS = "lamina.matmul_nbits"
"""(x, packed, scales[, zeros]) {bits, block_size, accuracy_level}: ONNX Runtime's MatMulNBits on rows of f32.

x is [M, K] of f32; packed [N, blocks, block_size * bits / 8] of ui8, the first element of each byte in its lowest bits;
scales [N, blocks]; zeros [N, blocks] in the scales' type, else 2^(bits - 1). With an accuracy_level of 4 each block of
x is rounded to signed bytes times a scale.
"""
