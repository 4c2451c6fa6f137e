// RUN: lamina-opt %s --split-input-file --verify-diagnostics
func.func @indices(%m: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{memref<4x4xf32> takes 2 indices, got 1}}
  memref.prefetch %m[%i], read, locality<3>, data : memref<4x4xf32>
  func.return
}

// -----

func.func @locality(%m: memref<4xf32>, %i: index) {
  // expected-error@+1 {{the locality is 0 to 3, got 4}}
  memref.prefetch %m[%i], read, locality<4>, data : memref<4xf32>
  func.return
}
