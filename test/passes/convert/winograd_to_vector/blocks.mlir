// RUN: lamina-opt %s -p convert-winograd-to-vector --machine x86-64-avx2 | filecheck %s

// Eight rows of tiles, two of them a block: each thread takes its blocks through all three steps, in a place of its own.
// The 16 rows of a product are a tile of six and two of five.
// CHECK-LABEL: func.func private @convolution
// CHECK: affine.parallel (%[[T:.*]]) = (0) to ([[CORES:[0-9]+]])
// CHECK: %[[V:.*]] = memref.subview %{{.*}}[%{{.*}}] [{{[0-9]+}}] [1] : memref<147456xf32> to memref<{{[0-9]+}}xf32, strided<[1], offset: ?>>
// CHECK: %[[M:.*]] = memref.subview
// CHECK: affine.for %[[B:.*]] = affine_map<(d0) -> (((d0 * 4) floordiv [[CORES]]))>(%[[T]])
// CHECK: %[[FIRST:.*]] = affine.apply affine_map<(d0) -> ((d0 * 2))> (%[[B]])
// CHECK: affine.for %[[I:.*]] = 0 to 2
// CHECK: %[[ROW:.*]] = affine.apply {{.*}} (%[[FIRST]], %[[I]])
// CHECK: affine.vector_store %{{.*}}, %[[V]][%[[I]]
// CHECK: affine.for %{{.*}} = 0 to 36
// CHECK: affine.load %[[V]]
// CHECK: vector.fma
// CHECK: affine.vector_store %{{.*}}, %[[M]]
// CHECK: affine.for %{{.*}} = 0 to 2
// CHECK: affine.vector_store %{{.*}}, %[[M]]
// CHECK: affine.for %[[I:.*]] = 0 to 2
// CHECK: affine.vector_load %[[M]][%[[I]]
// CHECK-NOT: linalg
func.func private @convolution(%x: memref<1x32x32x64xf32>, %u: memref<6x6x4x64x16xf32>, %y: memref<1x30x30x64xf32>, %v: memref<6x6x8x8x1x64xf32>, %m: memref<6x6x8x8x1x64xf32>) attributes {lamina.kernel = "winograd", lamina.scratch = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.winograd_input_transform fmr(F_4_3) ins(%x : memref<1x32x32x64xf32>) outs(%v : memref<6x6x8x8x1x64xf32>)
  linalg.fill ins(%zero : f32) outs(%m : memref<6x6x8x8x1x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(a, b, i, j, n, f, c) -> (a, b, i, j, n, c)>, affine_map<(a, b, i, j, n, f, c) -> (a, b, f floordiv 16, c, f mod 16)>, affine_map<(a, b, i, j, n, f, c) -> (a, b, i, j, n, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v, %u : memref<6x6x8x8x1x64xf32>, memref<6x6x4x64x16xf32>) outs(%m : memref<6x6x8x8x1x64xf32>) attrs = {lamina.block_rows = 2 : i64} {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<1x30x30x64xf32>)
  linalg.winograd_output_transform fmr(F_4_3) ins(%m : memref<6x6x8x8x1x64xf32>) outs(%y : memref<1x30x30x64xf32>)
  func.return
}
