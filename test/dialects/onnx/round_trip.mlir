// RUN: lamina-opt %s | lamina-opt | filecheck %s

// Any operator of any version is known, attributes of every kind survive, absent inputs stay absent.

builtin.module attributes {onnx.opsets = {ai.onnx = 13 : i64, com.example = 1 : i64}} {
  // CHECK-LABEL: func.func public @main
  // CHECK-SAME: {lamina.name = "data", lamina.dims = ["batch", ""]}
  func.func public @main(%x: tensor<?x4xf32> {lamina.name = "data", lamina.dims = ["batch", ""]}) -> tensor<*xf32> {
    // CHECK: %none = "onnx.NoValue"() : () -> none
    %none = "onnx.NoValue"() : () -> none
    // CHECK: "onnx.Constant"() {value = dense<[0, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
    %shape = "onnx.Constant"() {value = dense<[0, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
    // CHECK: "onnx.Clip"(%x, %none, %{{.*}}) : (tensor<?x4xf32>, none, tensor<f32>) -> tensor<?x4xf32>
    %six = "onnx.Constant"() {value_float = 6.000000e+00 : f32} : () -> tensor<f32>
    %clipped = "onnx.Clip"(%x, %none, %six) : (tensor<?x4xf32>, none, tensor<f32>) -> tensor<?x4xf32>
    // CHECK: "onnx.Reshape"
    %y = "onnx.Reshape"(%clipped, %shape) {allowzero = 0 : i64, onnx.opset = 14 : i64} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    // CHECK: "onnx.Transpose"(%{{.*}}) {perm = array<i64: 1, 0>}
    %z = "onnx.Transpose"(%y) {perm = array<i64: 1, 0>} : (tensor<?x?xf32>) -> tensor<?x?xf32>
    // CHECK: "onnx.ai.onnx.ml.Scaler"(%{{.*}}) {offset = array<f32: 1.000000e+00>, scale = array<f32: 2.000000e+00>}
    %s = "onnx.ai.onnx.ml.Scaler"(%z) {offset = array<f32: 1.0>, scale = array<f32: 2.0>} : (tensor<?x?xf32>) -> tensor<?x?xf32>
    // CHECK: "onnx.com.example.Swirl"(%{{.*}}) {how = "left", names = ["a", "b"]} : (tensor<?x?xf32>) -> !onnx.unknown
    %w = "onnx.com.example.Swirl"(%s) {how = "left", names = ["a", "b"]} : (tensor<?x?xf32>) -> !onnx.unknown
    // CHECK: "onnx.If"(%{{.*}}) ({
    %c = "onnx.Constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
    %r = "onnx.If"(%c) ({
      "onnx.Yield"(%z) : (tensor<?x?xf32>) -> ()
    }, {
      %n = "onnx.Neg"(%z) : (tensor<?x?xf32>) -> tensor<?x?xf32>
      "onnx.Yield"(%n) : (tensor<?x?xf32>) -> ()
    // CHECK: {onnx.regions = ["then_branch", "else_branch"]}
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<*xf32>
    // CHECK: !onnx.seq<tensor<*xf32>>
    %q = "onnx.SequenceConstruct"(%r) : (tensor<*xf32>) -> !onnx.seq<tensor<*xf32>>
    func.return %r : tensor<*xf32>
  }
}
