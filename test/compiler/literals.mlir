// A hexadecimal number in place of a float is its bit pattern; MLIR prints inf, NaN and large whole numbers so.
// RUN: lamina-opt %s | lamina-opt | filecheck %s

func.func @floats() {
  // CHECK: dense<[0x7f800000, 0xff800000, 0x7fc00000, 1.000000e+00]> : tensor<4xf32>
  %0 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]> : tensor<4xf32>
  // CHECK: dense<0x7f80> : tensor<bf16>
  %1 = stablehlo.constant dense<0x7F80> : tensor<bf16>
  // CHECK: dense<(0x7f800000,2.000000e+00)> : tensor<complex<f32>>
  %2 = stablehlo.constant dense<(0x7F800000, 2.0)> : tensor<complex<f32>>
  // CHECK: dense<16> : tensor<i32>
  %3 = stablehlo.constant dense<0x10> : tensor<i32>
  func.return
}
