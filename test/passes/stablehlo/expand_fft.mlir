// RUN: lamina-opt %s -p stablehlo-expand-fft | filecheck %s

// One product with the parts side by side.
// CHECK-LABEL: func.func @few
func.func @few(%x: tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>> {
  // CHECK: %[[BOTH:.*]] = stablehlo.concatenate {{.*}}, dim = 1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x16xf32>
  // CHECK: stablehlo.dot_general %[[BOTH]], {{.*}} : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
  // CHECK: stablehlo.complex
  %y = stablehlo.fft %x, type = FFT, length = [8] : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
  func.return %y : tensor<3x8xcomplex<f32>>
}

// Real numbers have one part.
// CHECK-LABEL: func.func @real
func.func @real(%x: tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>> {
  // CHECK: stablehlo.dot_general %x, {{.*}} : (tensor<3x8xf32>, tensor<8x16xf32>) -> tensor<3x16xf32>
  // CHECK-NOT: dot_general
  %y = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  func.return %y : tensor<3x5xcomplex<f32>>
}

// 128 = 2 x 64: columns, factors, rows.
// CHECK-LABEL: func.func @composite
func.func @composite(%x: tensor<128xcomplex<f32>>) -> tensor<128xcomplex<f32>> {
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
  // CHECK: stablehlo.multiply
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<2x128xf32>, tensor<128x128xf32>) -> tensor<2x128xf32>
  %y = stablehlo.fft %x, type = FFT, length = [128] : (tensor<128xcomplex<f32>>) -> tensor<128xcomplex<f32>>
  func.return %y : tensor<128xcomplex<f32>>
}

// 67 is a prime number: a convolution of 256 points.
// CHECK-LABEL: func.func @prime
func.func @prime(%x: tensor<67xcomplex<f32>>) -> tensor<67xcomplex<f32>> {
  // CHECK: stablehlo.pad {{.*}} -> tensor<256xf32>
  %y = stablehlo.fft %x, type = FFT, length = [67] : (tensor<67xcomplex<f32>>) -> tensor<67xcomplex<f32>>
  func.return %y : tensor<67xcomplex<f32>>
}
