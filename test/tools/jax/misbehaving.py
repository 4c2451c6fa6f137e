"""Work that ends or keeps its process busy."""

import os


def misbehave(name: str) -> str:
    """Does what its name says, else nothing."""
    if name == "crash":
        os._exit(1)
    if name == "time-out":
        while True:
            pass
    return ""
