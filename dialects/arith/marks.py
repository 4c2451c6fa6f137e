"""Marks of arithmetic: unit attributes of float ops of `arith`, and of the ops of the hub that become these."""

STRICT = "strict"
"""It is rounded as it stands: not contracted to a fused multiply-add."""

FLUSHES = "flushes"
"""A rounding to bfloat16 that may take subnormal numbers for zeros, as what multiplies its result does anyway."""
