"""From the tree to the hub: one walk that finds types, reports what is wrong, and emits ops.

`elaborator.py` says how its parts plug in.
"""
