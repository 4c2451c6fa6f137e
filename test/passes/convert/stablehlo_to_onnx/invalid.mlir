// RUN: lamina-opt %s -p convert-stablehlo-to-onnx --verify-diagnostics --split-input-file

func.func @no_operator(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{no operator of ONNX says this}}
  %0 = stablehlo.popcnt %x : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

func.func @signed_shift(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{cannot be written in ONNX: a shift of i32}}
  %0 = stablehlo.shift_left %x, %x : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
