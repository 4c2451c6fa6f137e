"""`lamina.dsl`: programs written as text, from Python.

m = lamina.dsl.compile('''
fn linear[M, K, N](x: f32[M, K], w: f32[K, N], b: f32[N]) -> f32[M, N] {
  return [i, j] => sum[k] x[i, k] * w[k, j] + b[j]
}
''')
y = m.linear(x, w, b)                 # NumPy arrays in and out, compiled once for each shape and dtype
print(m.linear.ir("linalg", x, w, b))  # any level of the descent
m.linear.ir("stablehlo", M=4, K=8, N=5)
"""

from .functions import CompiledFunction, CompiledProgram, compile
from .reading import Result, WrongProgram, check, format, load, test
from .templates import Template

__all__ = [
    "CompiledFunction",
    "CompiledProgram",
    "Result",
    "Template",
    "WrongProgram",
    "check",
    "compile",
    "format",
    "load",
    "test",
]
