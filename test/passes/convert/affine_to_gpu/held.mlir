// RUN: lamina-opt %s -p convert-affine-to-gpu | filecheck %s

// What points read of a vector of 32 is read once for three of them, which lie as far apart as there are threads.
func.func private @scaled(%x: memref<18432xf32>, %g: memref<32xf32>, %y: memref<18432xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i, %j) = (0, 0) to (576, 8) {
    %a = affine.vector_load %x[%i * 32 + %j * 4] {alignment = 16 : i64} : memref<18432xf32>, vector<4xf32>
    %b = affine.vector_load %g[%j * 4] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>
    %c = arith.mulf %a, %b : vector<4xf32>
    affine.vector_store %c, %y[%i * 32 + %j * 4] {alignment = 16 : i64} : memref<18432xf32>, vector<4xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @scaled(
// CHECK: gpu.launch_func @scaled_0({{.*}}) {blocks = array<i64: 12, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-LABEL: func.func private @scaled_0(
// CHECK: %[[A:.*]] = affine.vector_load %x[%[[I:.*]] * 32 + %[[J:.*]] * 4]
// CHECK: %[[G:.*]] = affine.vector_load %g[%[[J]] * 4]
// CHECK: %[[C:.*]] = arith.mulf %[[A]], %[[G]]
// CHECK: %[[K:.*]] = affine.apply affine_map<(d0) -> ((d0 + 192))> (%[[I]])
// CHECK-NEXT: %[[B:.*]] = affine.vector_load %x[%[[K]] * 32 + %[[J]] * 4]
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[B]], %[[G]]
// CHECK: affine.apply affine_map<(d0) -> ((d0 + 384))> (%[[I]])
// CHECK: affine.vector_store %[[C]], %y[%[[I]] * 32
// CHECK-NEXT: affine.vector_store %[[D]], %y[%[[K]] * 32

// Heads that two queries share: each number is read once and written twice, both after it is read.
// CHECK-LABEL: func.func private @repeated(
// CHECK: gpu.launch_func @repeated_0({{.*}}) {blocks = array<i64: 32, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-LABEL: func.func private @repeated_0(
// CHECK: %[[V:.*]] = affine.vector_load %x
// CHECK: affine.apply affine_map<(d0) -> ((d0 + 1))>
// CHECK-NOT: affine.vector_load
// CHECK: affine.vector_store %[[V]], %y
// CHECK-NEXT: affine.vector_store %[[V]], %y
func.func private @repeated(%x: memref<16384xf32>, %y: memref<32768xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%h, %r, %i, %j) = (0, 0, 0, 0) to (4, 2, 64, 16) {
    %v = affine.vector_load %x[%i * 256 + %h * 64 + %j * 4] {alignment = 16 : i64} : memref<16384xf32>, vector<4xf32>
    affine.vector_store %v, %y[%h * 8192 + %r * 4096 + %i * 64 + %j * 4] {alignment = 16 : i64} : memref<32768xf32>, vector<4xf32>
  }
  func.return
}

// What a point reads after it has written the same buffer is not read before others write it: a thread a point.
// CHECK-LABEL: func.func private @after(
// CHECK: gpu.launch_func @after_0({{.*}}) {blocks = array<i64: 32, 1, 1>, threads = array<i64: 128, 1, 1>}
func.func private @after(%g: memref<64xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i, %j) = (0, 0) to (64, 64) {
    %a = affine.load %g[%j] : memref<64xf32>
    affine.store %a, %y[%i * 64 + %j] : memref<4096xf32>
    %b = affine.load %y[%i * 64 + %j] : memref<4096xf32>
    affine.store %b, %z[%i * 64 + %j] : memref<4096xf32>
  }
  func.return
}

// Nothing stands still: nothing is gained.
// CHECK-LABEL: func.func private @alone(
// CHECK: gpu.launch_func @alone_0({{.*}}) {blocks = array<i64: 32, 1, 1>, threads = array<i64: 128, 1, 1>}
func.func private @alone(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i, %j) = (0, 0) to (64, 64) {
    %a = affine.load %x[%i * 64 + %j] : memref<4096xf32>
    affine.store %a, %y[%i * 64 + %j] : memref<4096xf32>
  }
  func.return
}

// What a value says where to find is read once, too, for points of one row after the other.
// CHECK-LABEL: func.func private @found_0(
// CHECK-COUNT-1: memref.load
// CHECK-NOT: memref.load
func.func private @found(%n: memref<128xi64>, %t: memref<512xf32>, %g: memref<128xf32>, %y: memref<16384xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i, %j) = (0, 0) to (128, 128) {
    %a = affine.load %n[%j] : memref<128xi64>
    %b = arith.index_cast %a : i64 to index
    %c = memref.load %t[%b] : memref<512xf32>
    %d = affine.load %g[%i] : memref<128xf32>
    %e = arith.mulf %c, %d : f32
    affine.store %e, %y[%i * 128 + %j] : memref<16384xf32>
  }
  func.return
}

// Rows of a table that values choose: their numbers lie side by side, so that warps take whole rows, and threads hold the
// index for those that lie apart.
// CHECK-LABEL: func.func private @rows_0(
// CHECK: %[[J:.*]] = affine.apply affine_map<(d0) -> (((d0 floordiv 32) mod 2))>
// CHECK-NEXT: %[[K:.*]] = affine.apply affine_map<(d0) -> ((d0 mod 32))>
// CHECK: memref.load %t[%[[B:.*]], %[[J]], %[[K]]]
// CHECK: %[[N:.*]] = affine.apply affine_map<(d0) -> ((d0 + 2))> (%[[J]])
// CHECK-NEXT: memref.load %t[%[[B]], %[[N]], %[[K]]]
func.func private @rows(%n: memref<20xi64>, %t: memref<4x26x32xf32>, %y: memref<20x26x32xf32>) attributes {lamina.kernel = "loops", gpu.times = 4 : i64} {
  affine.parallel (%i, %j, %k) = (0, 0, 0) to (20, 26, 32) {
    %a = affine.load %n[%i] : memref<20xi64>
    %b = arith.index_cast %a : i64 to index
    %c = memref.load %t[%b, %j, %k] : memref<4x26x32xf32>
    affine.store %c, %y[%i, %j, %k] : memref<20x26x32xf32>
  }
  func.return
}
