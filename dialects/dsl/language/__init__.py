"""The language of `.lam` files: its tree, its grammar, its formatter, and how its errors are told."""
