"""The mark of arithmetic that is rounded as it stands: it is not contracted to a fused multiply-add."""

STRICT = "strict"
"""A unit attribute of float ops of `arith`, and of the ops of the hub that become these."""
