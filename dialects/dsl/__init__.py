"""dsl: programs written as text, with index notation. See `language/tree.py` for what the language is."""
