// RUN: lamina-opt %s -p 'onnx-bind-shapes{shapes="batch=8"},onnx-infer-shapes' | filecheck %s
// RUN: lamina-opt %s -p 'onnx-infer-shapes' | filecheck %s --check-prefix=OPEN
// RUN: lamina-opt %s -p 'onnx-bind-shapes{shapes="batch=8","z_dim1=5"}' | filecheck %s --check-prefix=NAMED

builtin.module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK: func.func public @main(%x: tensor<8x3x4xf32> {lamina.name = "data"}) -> (tensor<8x12xf32>
  // OPEN: func.func public @main(%x: tensor<?x3x4xf32> {lamina.name = "data", lamina.dims = ["batch", "", ""]}) -> (tensor<?x12xf32>
  func.func public @main(%x: tensor<?x3x4xf32> {lamina.name = "data", lamina.dims = ["batch", "", ""]}) -> (tensor<*xf32> {lamina.name = "y"}) {
    // CHECK: "onnx.Relu"(%x) : (tensor<8x3x4xf32>) -> tensor<8x3x4xf32>
    // OPEN: "onnx.Relu"(%x) : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
    %r = "onnx.Relu"(%x) : (tensor<?x3x4xf32>) -> tensor<*xf32>
    %s = "onnx.Constant"() {value = dense<[0, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
    // CHECK: "onnx.Reshape"(%r, %s) : (tensor<8x3x4xf32>, tensor<2xi64>) -> tensor<8x12xf32>
    %y = "onnx.Reshape"(%r, %s) : (tensor<*xf32>, tensor<2xi64>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }

  // A dimension without a name is called after its input.
  // NAMED: func.func @more(%z: tensor<?x5xf32> {lamina.name = "z", lamina.dims = ["z_dim0", ""]})
  func.func @more(%z: tensor<?x?xf32> {lamina.name = "z"}) -> tensor<*xf32> {
    %y = "onnx.Relu"(%z) : (tensor<?x?xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
