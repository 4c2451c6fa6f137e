// RUN: lamina-opt %s -p onnx-fuse-dequantized-weights,dce --split-input-file | filecheck %s

// Signed numbers become unsigned ones with the zero point in the middle, blocks of rows those of columns.
// CHECK-LABEL: func.func public @blocks
// CHECK-DAG: %[[W:.*]] = "onnx.Constant"() {value = dense<153> : tensor<2x2x16xui8>}
// CHECK-DAG: %[[S:.*]] = "onnx.Constant"() {value = dense<5.000000e-01> : tensor<2x2xf32>}
// CHECK: "onnx.com.microsoft.MatMulNBits"(%x, %[[W]], %[[S]]) {K = 64 : i64, N = 2 : i64, bits = 4 : i64, block_size = 32 : i64}
// CHECK-NOT: DequantizeLinear
builtin.module attributes {onnx.opsets = {"" = 21 : i64}} {
  func.func public @blocks(%x: tensor<3x64xf32>) -> tensor<3x2xf32> {
    %w = "onnx.Constant"() {value = dense<1> : tensor<64x2xi4>} : () -> tensor<64x2xi4>
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
    %d = "onnx.DequantizeLinear"(%w, %s) {axis = 0 : i64, block_size = 32 : i64} : (tensor<64x2xi4>, tensor<2x2xf32>) -> tensor<64x2xf32>
    %y = "onnx.MatMul"(%x, %d) : (tensor<3x64xf32>, tensor<64x2xf32>) -> tensor<3x2xf32>
    func.return %y : tensor<3x2xf32>
  }
}

// -----

// Unsigned, transposed, with a scale for each column and a bias: blocks of 64, and the zero points say that there are none.
// CHECK-LABEL: func.func public @columns
// CHECK-DAG: %[[Z:.*]] = "onnx.Constant"() {value = dense<0> : tensor<2x1xui8>}
// CHECK-DAG: %[[N:.*]] = "onnx.NoValue"()
// CHECK: "onnx.com.microsoft.MatMulNBits"(%x, %{{.*}}, %{{.*}}, %[[Z]], %[[N]], %b) {K = 64 : i64, N = 2 : i64, bits = 4 : i64, block_size = 64 : i64}
builtin.module attributes {onnx.opsets = {"" = 21 : i64}} {
  func.func public @columns(%x: tensor<3x64xf32>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
    %w = "onnx.Constant"() {value = dense<1> : tensor<2x64xui4>} : () -> tensor<2x64xui4>
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<2xf32>} : () -> tensor<2xf32>
    %d = "onnx.DequantizeLinear"(%w, %s) {axis = 0 : i64} : (tensor<2x64xui4>, tensor<2xf32>) -> tensor<2x64xf32>
    %y = "onnx.Gemm"(%x, %d, %b) {transB = 1 : i64} : (tensor<3x64xf32>, tensor<2x64xf32>, tensor<2xf32>) -> tensor<3x2xf32>
    func.return %y : tensor<3x2xf32>
  }
}

// -----

// Bytes with a scale for all, blocks along the columns, and weights that are not known stay.
// CHECK-LABEL: func.func public @others
// CHECK-NOT: MatMulNBits
builtin.module attributes {onnx.opsets = {"" = 21 : i64}} {
  func.func public @others(%x: tensor<3x64xf32>, %v: tensor<64x32xi4>) -> (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>) {
    %w = "onnx.Constant"() {value = dense<1> : tensor<64x32xi8>} : () -> tensor<64x32xi8>
    %u = "onnx.Constant"() {value = dense<1> : tensor<64x32xi4>} : () -> tensor<64x32xi4>
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %t = "onnx.Constant"() {value = dense<0.5> : tensor<64x1xf32>} : () -> tensor<64x1xf32>
    %d = "onnx.DequantizeLinear"(%w, %s) : (tensor<64x32xi8>, tensor<f32>) -> tensor<64x32xf32>
    %e = "onnx.DequantizeLinear"(%u, %t) {axis = 1 : i64, block_size = 32 : i64} : (tensor<64x32xi4>, tensor<64x1xf32>) -> tensor<64x32xf32>
    %f = "onnx.DequantizeLinear"(%v, %s) : (tensor<64x32xi4>, tensor<f32>) -> tensor<64x32xf32>
    %0 = "onnx.MatMul"(%x, %d) : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
    %1 = "onnx.MatMul"(%x, %e) : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
    %2 = "onnx.MatMul"(%x, %f) : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
    func.return %0, %1, %2 : tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>
  }
}
