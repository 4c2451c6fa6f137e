"""What the ops of `example` do to arrays."""

from lamina.compiler.semantics import semantics
from lamina.compiler.weights import Array


@semantics("example.cube")
def cube(x: Array) -> Array:
    return x * x * x
