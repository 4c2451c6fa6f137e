"""Descriptions of systolic arrays, read by `lamina.compiler.systolic_machine`."""
