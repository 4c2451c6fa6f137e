// RUN: lamina-opt %s -p convert-contraction-to-gpu | filecheck %s

// One block of 64 threads for each 32 x 32 of the result; both barriers are in the loop over the sum.
// CHECK-LABEL: func.func private @product
// CHECK-NEXT: gpu.launch_func @product_0(%a, %b, %bias, %c) {blocks = array<i64: 4, 1, 1>, threads = array<i64: 64, 1, 1>}
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func private @product_0
// CHECK-SAME: attributes {gpu.kernel, gpu.known_block_size = array<i32: 64, 1, 1>}
// CHECK: gpu.dynamic_shared_memory : memref<4608xi8, 3 : i32>
// CHECK: affine.for %{{.*}} = 0 to 32 step 16 iter_args
// CHECK-COUNT-4: affine.vector_load %{{.*}} {alignment = 16 : i64} : memref<{{.*}}xf32>, vector<4xf32>
// CHECK: gpu.barrier
// CHECK: affine.vector_store %{{.*}} : memref<576xf32, 3 : i32>, vector<4xf32>
// CHECK: gpu.barrier
// CHECK: affine.for %{{.*}} = 0 to 16 step 4
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// CHECK-COUNT-4: arith.maximumf
// CHECK-NOT: affine.if
func.func private @product(%a: memref<64x32xf32>, %b: memref<32x64xf32>, %bias: memref<64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x32xf32>, memref<32x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%bias : memref<64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %s = arith.addf %old, %x : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }
  func.return
}

// What ends within a tile is guarded; each matrix of a batch is a block's.
// CHECK-LABEL: func.func private @batch
// CHECK-NEXT: gpu.launch_func @batch_0(%a, %b, %c) {blocks = array<i64: 6, 1, 1>, threads = array<i64: 64, 1, 1>}
// CHECK-LABEL: func.func private @batch_0
// CHECK: affine.if affine_set<(d0, d1, d2, d3)
func.func private @batch(%a: memref<3x33x20xf32>, %b: memref<3x12x20xf32>, %c: memref<3x33x12xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<3x33x12xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<3x33x20xf32>, memref<3x12x20xf32>) outs(%c : memref<3x33x12xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// A result of an odd width stays.
// CHECK-LABEL: func.func private @odd
// CHECK: linalg.generic
func.func private @odd(%a: memref<8x16xf32>, %b: memref<16x9xf32>, %c: memref<8x9xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<8x9xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<8x16xf32>, memref<16x9xf32>) outs(%c : memref<8x9xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
