// Constants, iota and random numbers print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @constants(
func.func @constants() {
  // CHECK-NEXT{LITERAL}: %ints = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  %ints = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  // CHECK-NEXT: %splat = stablehlo.constant dense<1.000000e+00> : tensor<4x4xf32>
  %splat = stablehlo.constant dense<1.000000e+00> : tensor<4x4xf32>
  // CHECK-NEXT: %odd = stablehlo.constant dense<[0x7f800000, 0xff800000, 0x7fc00000]> : tensor<3xf32>
  %odd = stablehlo.constant dense<[0x7f800000, 0xff800000, 0x7fc00000]> : tensor<3xf32>
  // CHECK-NEXT: %half = stablehlo.constant dense<[1.500000e+00, 0x7f80]> : tensor<2xbf16>
  %half = stablehlo.constant dense<[1.500000e+00, 0x7f80]> : tensor<2xbf16>
  // CHECK-NEXT: %tiny = stablehlo.constant dense<[1.500000e+00, 0x7c]> : tensor<2xf8E5M2>
  %tiny = stablehlo.constant dense<[1.500000e+00, 0x7c]> : tensor<2xf8E5M2>
  // CHECK-NEXT: %pairs = stablehlo.constant dense<[(1.000000e+00,-2.000000e+00), (0.000000e+00,0x7f800000)]> : tensor<2xcomplex<f32>>
  %pairs = stablehlo.constant dense<[(1.000000e+00,-2.000000e+00), (0.000000e+00,0x7f800000)]> : tensor<2xcomplex<f32>>
  // CHECK-NEXT: %flags = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %flags = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: %bytes = stablehlo.constant dense<[255, 0]> : tensor<2xui8>
  %bytes = stablehlo.constant dense<[255, 0]> : tensor<2xui8>
  // CHECK-NEXT: %none = stablehlo.constant dense<> : tensor<0xf32>
  %none = stablehlo.constant dense<> : tensor<0xf32>
  // CHECK-NEXT: %weight = stablehlo.constant dense_resource<w0> : tensor<64x64xf32>
  %weight = stablehlo.constant dense_resource<w0> : tensor<64x64xf32>
  // CHECK-NEXT: %tagged = stablehlo.constant {tag = 1 : i32} dense<7> : tensor<i64>
  %tagged = stablehlo.constant {tag = 1 : i32} dense<7> : tensor<i64>
  func.return
}

// CHECK-LABEL: func.func @indices_and_random(
func.func @indices_and_random(%a: tensor<f32>, %shape: tensor<2xi64>, %state: tensor<2xui64>) {
  // CHECK-NEXT: %iota = stablehlo.iota dim = 1 : tensor<2x3xui8>
  %iota = stablehlo.iota dim = 1 : tensor<2x3xui8>
  // CHECK-NEXT: %rng = stablehlo.rng %a, %a, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  %rng = stablehlo.rng %a, %a, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  func.return
}
