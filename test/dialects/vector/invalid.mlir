// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @mask_too_long() {
  // expected-error@+1 {{mask sizes [9] do not fit a vector of 8 lanes}}
  %0 = vector.constant_mask [9] : vector<8xi1>
  func.return
}

// -----

func.func @gather_other_element(%m: memref<?xf64>, %i: index, %v: vector<8xi32>, %k: vector<8xi1>, %p: vector<8xf32>) {
  // expected-error@+1 {{base of f64 and vector of f32 differ}}
  %0 = vector.gather %m[%i] [%v], %k, %p : memref<?xf64>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  func.return
}
