// RUN: lamina-opt %s -p convert-onnx-to-stablehlo --split-input-file | filecheck %s

// A convolution with its bias, as PyTorch exports it.
builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func public @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<6x1x3x3xf32>, %b: tensor<6xf32>) -> tensor<1x6x4x4xf32>
  func.func public @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<6x1x3x3xf32>, %b: tensor<6xf32>) -> tensor<*xf32> {
    // CHECK: stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]
    // CHECK-SAME: stride = [2, 2], pad = {{\[\[1, 1\], \[1, 1\]\]}}
    // CHECK-SAME: feature_group_count = 3
    // CHECK: %[[B:.*]] = stablehlo.reshape %b : (tensor<6xf32>) -> tensor<1x6x1x1xf32>
    // CHECK: stablehlo.broadcast_in_dim %[[B]], dims = [0, 1, 2, 3]
    // CHECK: stablehlo.add
    %y = "onnx.Conv"(%x, %w, %b) {group = 3 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}

// -----

// Shape arithmetic leaves nothing behind.
builtin.module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func public @shapes(%x: tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: %y = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: func.return %y : tensor<2x12xf32>
  func.func public @shapes(%x: tensor<2x3x4xf32>) -> tensor<*xf32> {
    %s = "onnx.Shape"(%x) : (tensor<2x3x4xf32>) -> tensor<3xi64>
    %zero = "onnx.Constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %n = "onnx.Gather"(%s, %zero) {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %axes = "onnx.Constant"() {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
    %rest = "onnx.Constant"() {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
    %n1 = "onnx.Unsqueeze"(%n, %axes) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
    %shape = "onnx.Concat"(%n1, %rest) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %y = "onnx.Reshape"(%x, %shape) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}

// -----

// The opset decides: before 13 softmax flattens from its axis on.
builtin.module attributes {onnx.opsets = {ai.onnx = 9 : i64}} {
  // CHECK-LABEL: func.func public @softmax
  // CHECK: stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // CHECK: stablehlo.reduce{{.*}} applies stablehlo.maximum across dimensions = [1]
  // CHECK: stablehlo.exponential
  // CHECK: stablehlo.reduce{{.*}} applies stablehlo.add across dimensions = [1]
  // CHECK: stablehlo.divide
  // CHECK: stablehlo.reshape {{.*}} -> tensor<2x3x4xf32>
  func.func public @softmax(%x: tensor<2x3x4xf32>) -> tensor<*xf32> {
    %y = "onnx.Softmax"(%x) : (tensor<2x3x4xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}

// -----

// An embedding is one gather, with negative indices counted from the end.
builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func public @embedding
  // CHECK: %[[I:.*]] = stablehlo.select
  // CHECK: "stablehlo.gather"(%w, %[[I]])
  // CHECK-SAME: slice_sizes = array<i64: 1, 16>
  // CHECK-SAME: -> tensor<2x5x16xf32>
  func.func public @embedding(%w: tensor<100x16xf32>, %i: tensor<2x5xi64>) -> tensor<*xf32> {
    %y = "onnx.Gather"(%w, %i) : (tensor<100x16xf32>, tensor<2x5xi64>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}

// -----

// Operators that only ONNX's own function bodies know are expanded.
builtin.module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // CHECK-LABEL: func.func public @body
  // CHECK-NOT: onnx
  // CHECK: stablehlo.dot_general
  func.func public @body(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x5x4xf32>, %v: tensor<1x2x5x4xf32>) -> tensor<*xf32> {
    %y = "onnx.Attention"(%q, %k, %v) {onnx.opset = 23 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
