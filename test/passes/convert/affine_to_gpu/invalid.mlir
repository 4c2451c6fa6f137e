// RUN: lamina-opt %s -p convert-affine-to-gpu --split-input-file --verify-diagnostics

func.func private @early(%s: memref<f32>, %y: memref<64xf32>) attributes {lamina.kernel = "loops"} {
  // expected-error @+1 {{a value is read before a loop that changes it and used after}}
  %old = affine.load %s[] : memref<f32>
  affine.parallel (%i) = (0) to (1) {
    %one = arith.constant 1.0 : f32
    affine.store %one, %s[] : memref<f32>
  }
  affine.parallel (%i) = (0) to (64) {
    affine.store %old, %y[%i] : memref<64xf32>
  }
  func.return
}
