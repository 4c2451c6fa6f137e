// RUN: lamina-opt %s -p stablehlo-split-complex --verify-diagnostics

func.func @main(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  // expected-error @below {{no target but 'interpret' computes this with complex numbers}}
  %y = stablehlo.fft %x, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  func.return %y : tensor<8xcomplex<f32>>
}
