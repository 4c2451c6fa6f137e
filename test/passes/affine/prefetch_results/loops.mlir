// RUN: lamina-opt %s -p 'affine-prefetch-results{bytes=16384}' | filecheck %s
// RUN: lamina-opt %s -p 'affine-prefetch-results{bytes=16384}' | lamina-opt | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx2 -p affine-prefetch-results | filecheck %s --check-prefix NONE

// Only where it was measured.
// NONE-NOT: memref.prefetch

// A line at a time, 4096 bytes ahead: what is stored, and what is loaded.
// CHECK-LABEL: func.func @sum
// CHECK: affine.for %[[I:.*]] = 0 to 16384 step 32
// CHECK-NEXT: %[[X0:.*]] = affine.apply affine_map<(d0) -> ((d0 + 1024))> (%[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[X0]]], read, locality<3>, data
// CHECK-NEXT: %[[X1:.*]] = affine.apply affine_map<(d0) -> ((d0 + 1040))> (%[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[X1]]], read, locality<3>, data
// CHECK-NEXT: affine.vector_load %x[%[[I]]]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: %[[Y0:.*]] = affine.apply affine_map<(d0) -> ((d0 + 1024))> (%[[I]])
// CHECK-NEXT: memref.prefetch %y[%[[Y0]]], write, locality<3>, data
// CHECK-NEXT: affine.apply
// CHECK-NEXT: memref.prefetch %y[{{.*}}], write, locality<3>, data
// CHECK-NEXT: affine.vector_store {{.*}}, %y[%[[I]]]
func.func @sum(%x: memref<16384xf32>, %y: memref<16384xf32>) {
  affine.for %i = 0 to 16384 step 32 {
    %a = affine.vector_load %x[%i] : memref<16384xf32>, vector<32xf32>
    %b = arith.addf %a, %a : vector<32xf32>
    affine.vector_store %b, %y[%i] : memref<16384xf32>, vector<32xf32>
  }
  func.return
}

// Rows that lie one behind another, of a parallel loop, too: along them.
// CHECK-LABEL: func.func @rows
// CHECK: affine.for %[[I:.*]] = 0 to 256
// CHECK: affine.apply affine_map<(d0, d1) -> ((d1 + 1024))> (%{{.*}}, %[[I]])
// CHECK: memref.prefetch %y[%{{.*}}, %{{.*}}], write
func.func @rows(%x: memref<256xf32>, %y: memref<64x256xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %i = 0 to 256 step 16 {
      %a = affine.vector_load %x[%i] : memref<256xf32>, vector<16xf32>
      affine.vector_store %a, %y[%r, %i] : memref<64x256xf32>, vector<16xf32>
    }
  }
  func.return
}

// Pieces of planes, of 448 bytes: five planes ahead. Those of a parallel loop are in no order.
// CHECK-LABEL: func.func @pieces
// CHECK: affine.for %[[C:.*]] = 0 to 64
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 112
// CHECK: %[[P:.*]] = affine.apply affine_map<(d0, d1) -> ((d0 + 5))> (%[[C]], %[[I]])
// CHECK-NEXT: %[[J:.*]] = affine.apply affine_map<(d0, d1) -> (d1)> (%[[C]], %[[I]])
// CHECK-NEXT: memref.prefetch %y[%[[P]], %[[J]]], write
// CHECK: affine.parallel
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @pieces(%x: memref<112xf32>, %y: memref<64x784xf32>) {
  affine.for %c = 0 to 64 {
    affine.for %i = 0 to 112 step 16 {
      %a = affine.vector_load %x[%i] : memref<112xf32>, vector<16xf32>
      affine.vector_store %a, %y[%c, %i] : memref<64x784xf32>, vector<16xf32>
    }
  }
  affine.parallel (%c) = (0) to (64) {
    affine.for %i = 0 to 112 step 16 {
      %a = affine.vector_load %x[%i] : memref<112xf32>, vector<16xf32>
      affine.vector_store %a, %y[%c, %i] : memref<64x784xf32>, vector<16xf32>
    }
  }
  func.return
}

// Tiles of a transpose, 8 KB one behind another: the next one's lines. Of tiles side by side nothing is known.
// CHECK-LABEL: func.func @tiles
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (392)
// CHECK: affine.for %[[R:.*]] = 0 to 32
// CHECK: affine.apply affine_map<(d0, d1) -> ((((d0 * 32) + d1) + 32))> (%[[T]], %[[R]])
// CHECK: memref.prefetch %y{{.*}}, write
// CHECK: affine.parallel
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @tiles(%v: vector<16xf32>, %y: memref<12544x64xf32>, %z: memref<64x12544xf32>) {
  affine.parallel (%t) = (0) to (392) {
    affine.for %r = 0 to 32 {
      affine.vector_store %v, %y[%t * 32 + %r, 16] : memref<12544x64xf32>, vector<16xf32>
    }
  }
  affine.parallel (%t) = (0) to (392) {
    affine.for %r = 0 to 64 {
      affine.vector_store %v, %z[%r, %t * 32] : memref<64x12544xf32>, vector<16xf32>
    }
  }
  func.return
}

// What the loop reads is there, what another loop reads may be; past the caches, small, on the stack, and in a loop that
// stores nothing of the kind: not asked for.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.prefetch %x
// CHECK: memref.prefetch %z{{.*}}, write
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @others(%x: memref<16384xf32>, %y: memref<16384xf32>, %z: memref<16384xf32>, %small: memref<64xf32>) {
  %stack = memref.alloca() : memref<16384xf32>
  affine.for %i = 0 to 16384 step 16 {
    %a = affine.vector_load %x[%i] : memref<16384xf32>, vector<16xf32>
    affine.vector_store %a, %z[%i] : memref<16384xf32>, vector<16xf32>
  }
  affine.for %i = 0 to 16384 step 16 {
    %a = affine.vector_load %x[%i] : memref<16384xf32>, vector<16xf32>
    affine.vector_store %a, %x[%i] : memref<16384xf32>, vector<16xf32>
    affine.vector_store %a, %y[%i] {nontemporal = 64 : i64} : memref<16384xf32>, vector<16xf32>
    affine.vector_store %a, %stack[%i] : memref<16384xf32>, vector<16xf32>
  }
  affine.for %i = 0 to 64 step 16 {
    %a = affine.vector_load %x[%i] : memref<16384xf32>, vector<16xf32>
    affine.vector_store %a, %small[%i] : memref<64xf32>, vector<16xf32>
  }
  func.return
}
