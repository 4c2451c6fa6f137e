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

// -----

func.func private @twice(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{a loop whose result is used after another one would run twice}}
  %sum = affine.for %j = 0 to 64 iter_args(%acc = %zero) -> (f32) {
    %v = affine.load %x[%j] : memref<64xf32>
    %next = arith.addf %acc, %v : f32
    affine.store %next, %x[%j] : memref<64xf32>
    affine.yield %next : f32
  }
  affine.parallel (%i) = (0) to (64) {
    affine.store %zero, %y[%i] : memref<64xf32>
  }
  affine.store %sum, %s[] : memref<f32>
  func.return
}
