"""A plug-in of lamina: `dots`, a line of multipliers and an adder tree.

Unlike a systolic array it has no scratchpad and keeps no weights: it streams a row of the left operand and a column of
the right one, as many elements a cycle as it has multipliers (`--target dots:32`), into one sum after the other.
"""
