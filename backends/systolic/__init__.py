"""Systolic arrays: binaries, simulators, the static checker and the generated hardware."""
