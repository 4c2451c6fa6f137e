"""ONNX operators of the domain `com.example`, in hub ops."""

from lamina.passes.convert.onnx_to_stablehlo import GraphBuilder, Value, lowers


@lowers("Cube", domain="com.example")
def cube(b: GraphBuilder, x: Value) -> Value:
    return b.multiply(b.multiply(x, x), x)
