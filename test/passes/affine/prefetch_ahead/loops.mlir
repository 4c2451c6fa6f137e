// RUN: lamina-opt %s -p 'affine-prefetch-ahead{bytes=16384}' | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx2 -p 'affine-prefetch-ahead' | filecheck %s --check-prefix NONE

// Only where it was measured.
// NONE-NOT: memref.prefetch

// A function of a large array: a line at a time, 4096 bytes ahead.
// CHECK-LABEL: func.func @exp
// CHECK: affine.for %[[I:.*]] = 0 to 16384 step 32
// CHECK-NEXT: %[[FIRST:.*]] = affine.apply affine_map<(d0) -> ((d0 + 1024))> (%[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[FIRST]]], read, locality<3>, data : memref<16384xf32>
// CHECK-NEXT: %[[SECOND:.*]] = affine.apply affine_map<(d0) -> ((d0 + 1040))> (%[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[SECOND]]], read, locality<3>, data : memref<16384xf32>
// CHECK-NEXT: affine.vector_load %x[%[[I]]]
// CHECK-NEXT: math.exp
func.func @exp(%x: memref<16384xf32>, %y: memref<16384xf32>) {
  affine.for %i = 0 to 16384 step 32 {
    %a = affine.vector_load %x[%i] : memref<16384xf32>, vector<32xf32>
    %b = math.exp %a : vector<32xf32>
    affine.vector_store %b, %y[%i] : memref<16384xf32>, vector<32xf32>
  }
  func.return
}

// Rows that lie one behind another: what is ahead is in a later row.
// CHECK-LABEL: func.func @rows
// CHECK: affine.apply affine_map<(d0, d1) -> (d0)>
// CHECK-NEXT: affine.apply affine_map<(d0, d1) -> ((d1 + 1024))>
// CHECK-NEXT: memref.prefetch %x
func.func @rows(%x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  affine.for %r = 0 to 64 {
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %b = math.tanh %a : vector<16xf32>
      affine.vector_store %b, %y[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
  }
  func.return
}

// Not: what computes nothing that takes long, pieces of rows, two arrays, a small one, one that is read again.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @others(%x: memref<64x256xf32>, %y: memref<64x256xf32>, %z: memref<64x256xf32>, %small: memref<1024xf32>, %rows: memref<64x256xf32>) {
  %none = arith.constant dense<0.0> : vector<16xf32>
  affine.for %r = 0 to 64 {
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %b = math.sqrt %a : vector<16xf32>
      affine.vector_store %b, %y[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %z[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %c = affine.vector_load %rows[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %s = arith.addf %a, %c : vector<16xf32>
      %b = math.exp %s : vector<16xf32>
      affine.vector_store %b, %y[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
  }
  affine.for %i = 0 to 1024 step 16 {
    %a = affine.vector_load %small[%i] : memref<1024xf32>, vector<16xf32>
    %b = math.exp %a : vector<16xf32>
    affine.vector_store %b, %small[%i] : memref<1024xf32>, vector<16xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @again
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @again(%x: memref<64x256xf32>, %y: memref<64x256xf32>, %z: memref<64x256xf32>) {
  %none = arith.constant dense<0.0> : vector<16xf32>
  affine.for %r = 0 to 64 {
    %sum = affine.for %i = 0 to 256 step 16 iter_args(%s = %none) -> (vector<16xf32>) {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %e = math.exp %a : vector<16xf32>
      %t = arith.addf %s, %e : vector<16xf32>
      affine.yield %t : vector<16xf32>
    }
    affine.for %i = 0 to 128 step 16 {
      %a = affine.vector_load %z[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %b = math.exp %a : vector<16xf32>
      affine.vector_store %b, %y[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %b = math.exp %a : vector<16xf32>
      %c = arith.addf %b, %sum : vector<16xf32>
      affine.vector_store %c, %y[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
  }
  func.return
}

// Loops that only read: every row that is read side by side.
// CHECK-LABEL: func.func @sums
// CHECK: affine.for %[[I:.*]] = 0 to 256 step 16 iter_args
// CHECK-COUNT-2: memref.prefetch %x
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @sums(%x: memref<64x256xf32>) -> vector<16xf32> {
  %none = arith.constant dense<0.0> : vector<16xf32>
  %all = affine.for %r = 0 to 32 iter_args(%total = %none) -> (vector<16xf32>) {
    %sum = affine.for %i = 0 to 256 step 16 iter_args(%s = %total) -> (vector<16xf32>) {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %b = affine.vector_load %x[%r + 32, %i] : memref<64x256xf32>, vector<16xf32>
      %c = arith.addf %a, %b : vector<16xf32>
      %t = arith.addf %s, %c : vector<16xf32>
      affine.yield %t : vector<16xf32>
    }
    affine.yield %sum : vector<16xf32>
  }
  func.return %all : vector<16xf32>
}

// The result that planes are summed into stays in a cache; one that is as large as what is read does not.
// CHECK-LABEL: func.func @planes
// CHECK: affine.for
// CHECK: affine.for
// CHECK: memref.prefetch %x
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @planes(%x: memref<64x256xf32>, %y: memref<256xf32>, %z: memref<64x256xf32>, %copy: memref<64x256xf32>) {
  affine.for %r = 0 to 64 {
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %s = affine.vector_load %y[%i] : memref<256xf32>, vector<16xf32>
      %t = arith.addf %s, %a : vector<16xf32>
      affine.vector_store %t, %y[%i] : memref<256xf32>, vector<16xf32>
    }
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %z[%r, %i] : memref<64x256xf32>, vector<16xf32>
      affine.vector_store %a, %copy[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
  }
  func.return
}

// What is read again for each row leaves the first cache to the lines that come, or they do not come ahead.
// CHECK-LABEL: func.func @vector
// CHECK: affine.for
// CHECK: affine.for
// CHECK: memref.prefetch %x
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @vector(%x: memref<64x256xf32>, %short: memref<256xf32>, %wide: memref<4x3840xf32>, %long: memref<3840xf32>, %y: memref<64x16xf32>) {
  %none = arith.constant dense<0.0> : vector<16xf32>
  affine.for %r = 0 to 64 {
    %sum = affine.for %i = 0 to 256 step 16 iter_args(%s = %none) -> (vector<16xf32>) {
      %a = affine.vector_load %x[%r, %i] : memref<64x256xf32>, vector<16xf32>
      %v = affine.vector_load %short[%i] : memref<256xf32>, vector<16xf32>
      %t = vector.fma %a, %v, %s : vector<16xf32>
      affine.yield %t : vector<16xf32>
    }
    affine.vector_store %sum, %y[%r, 0] : memref<64x16xf32>, vector<16xf32>
  }
  affine.for %r = 0 to 4 {
    %sum = affine.for %i = 0 to 3840 step 16 iter_args(%s = %none) -> (vector<16xf32>) {
      %a = affine.vector_load %wide[%r, %i] : memref<4x3840xf32>, vector<16xf32>
      %v = affine.vector_load %long[%i] : memref<3840xf32>, vector<16xf32>
      %t = vector.fma %a, %v, %s : vector<16xf32>
      affine.yield %t : vector<16xf32>
    }
    affine.vector_store %sum, %y[%r, 0] : memref<64x16xf32>, vector<16xf32>
  }
  func.return
}
