// RUN: lamina-opt %s -p onnx-dynamic-quantization | filecheck %s
// RUN: lamina-opt %s -p onnx-dynamic-quantization,convert-onnx-to-stablehlo | filecheck %s --check-prefix ROUNDED
// RUN: lamina-opt %s -p convert-onnx-to-stablehlo | filecheck %s --check-prefix FLOATS

// Bytes where the level lets it be.
// CHECK: accuracy_level = 4 : i64{{.*}}onnx.dynamic_quantization
// CHECK-NOT: onnx.dynamic_quantization

// ROUNDED: composite "lamina.matmul_nbits"{{.*}}accuracy_level = 4 : i64
// ROUNDED: composite "lamina.matmul_nbits"{{.*}}accuracy_level = 0 : i64
// ROUNDED: func.func private @matmul_nbits_4_32_4
// ROUNDED: round_nearest_even
// ROUNDED: func.func private @matmul_nbits_4_32_0
// ROUNDED-NOT: round_nearest_even

// FLOATS-COUNT-2: accuracy_level = 0 : i64
// FLOATS-NOT: round_nearest_even
builtin.module attributes {onnx.opsets = {"" = 17 : i64, "com.microsoft" = 1 : i64}} {
  func.func public @main(%x: tensor<2x64xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
    %w = "onnx.Constant"() {value = dense<1> : tensor<2x2x16xui8>} : () -> tensor<2x2x16xui8>
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<4xf32>} : () -> tensor<4xf32>
    %a = "onnx.com.microsoft.MatMulNBits"(%x, %w, %s) {K = 64 : i64, N = 2 : i64, accuracy_level = 4 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<2x64xf32>, tensor<2x2x16xui8>, tensor<4xf32>) -> tensor<2x2xf32>
    %b = "onnx.com.microsoft.MatMulNBits"(%x, %w, %s) {K = 64 : i64, N = 2 : i64, accuracy_level = 1 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<2x64xf32>, tensor<2x2x16xui8>, tensor<4xf32>) -> tensor<2x2xf32>
    func.return %a, %b : tensor<2x2xf32>, tensor<2x2xf32>
  }
}
