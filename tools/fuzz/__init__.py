"""`lamina fuzz`: changed files go to whatever reads files, and what breaks is told, kept and repeatable.

A case follows from its kind, the seed and its number. It runs in a process of its own making, so that a crash or a
wait costs one case. `kinds.py` is the table of what there is to read; the changes are in `changes.py` (bytes),
`tokens.py` (text), `onnx_changes.py` (models) and `headers.py` (artefacts).
"""
