// RUN: lamina-opt %s -p convert-affine-to-gpu | filecheck %s

// Two nests are two launches; three blocks of 128 threads cover 300 points, and those beyond do nothing.
// CHECK-LABEL: func.func private @two
// CHECK-NEXT: gpu.launch_func @two_0(%x, %y) {blocks = array<i64: 3, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-NEXT: gpu.launch_func @two_1(%y, %s) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 48, 1, 1>}
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func private @two_0
// CHECK-SAME: attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>, gpu.known_grid_size = array<i32: 3, 1, 1>}
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: %[[T:.*]] = gpu.thread_id x
// CHECK: %[[P:.*]] = affine.apply affine_map<(d0, d1) -> (((d0 * 128) + d1))> (%[[B]], %[[T]])
// CHECK: affine.if affine_set<(d0) : (((d0 * -1) + 299) >= 0)>(%[[P]])
// CHECK: %[[I:.*]] = affine.apply affine_map<(d0) -> ((d0 floordiv 100))> (%[[P]])
// CHECK: %[[J:.*]] = affine.apply affine_map<(d0) -> ((d0 mod 100))> (%[[P]])
// CHECK: affine.load %x[%[[I]], %[[J]]]
// CHECK-LABEL: func.func private @two_1
// CHECK: affine.for
// CHECK: affine.store
func.func private @two(%x: memref<3x100xf32>, %y: memref<3x100xf32>, %s: memref<3xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i) = (0) to (3) {
    affine.parallel (%j) = (0) to (100) {
      %v = affine.load %x[%i, %j] : memref<3x100xf32>
      affine.store %v, %y[%i, %j] : memref<3x100xf32>
    }
  }
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (3) {
    %sum = affine.for %j = 0 to 100 iter_args(%acc = %zero) -> (f32) {
      %v = affine.load %y[%i, %j] : memref<3x100xf32>
      %next = arith.addf %acc, %v : f32
      affine.yield %next : f32
    }
    affine.store %sum, %s[%i] : memref<3xf32>
  }
  func.return
}

// What is no parallel nest, one thread does; a full grid needs no condition.
// CHECK-LABEL: func.func private @scalar
// CHECK-NEXT: gpu.launch_func @scalar_0(%x, %s) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 1, 1, 1>}
// CHECK-NEXT: gpu.launch_func @scalar_1(%s, %y) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-LABEL: func.func private @scalar_0
// CHECK-NOT: gpu.thread_id
// CHECK-LABEL: func.func private @scalar_1
// CHECK-NOT: affine.if
func.func private @scalar(%x: memref<100xf32>, %s: memref<f32>, %y: memref<256xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %j = 0 to 100 iter_args(%acc = %zero) -> (f32) {
    %v = affine.load %x[%j] : memref<100xf32>
    %half = arith.mulf %acc, %v : f32
    %next = arith.addf %half, %v : f32
    affine.yield %next : f32
  }
  affine.store %sum, %s[] : memref<f32>
  affine.parallel (%i) = (0) to (256) {
    %v = affine.load %s[] : memref<f32>
    affine.store %v, %y[%i] : memref<256xf32>
  }
  func.return
}

// A loop that writes is done also where nobody uses what it carries.
// CHECK-LABEL: func.func private @scan
// CHECK-NEXT: gpu.launch_func @scan_0(%x, %y) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 1, 1, 1>}
// CHECK-LABEL: func.func private @scan_0
// CHECK: affine.for
// CHECK: affine.store
func.func private @scan(%x: memref<100xf32>, %y: memref<100xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %j = 0 to 100 iter_args(%acc = %zero) -> (f32) {
    %v = affine.load %x[%j] : memref<100xf32>
    %next = arith.addf %acc, %v : f32
    affine.store %next, %y[%j] : memref<100xf32>
    affine.yield %next : f32
  }
  func.return
}
