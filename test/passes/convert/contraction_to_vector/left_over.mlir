// RUN: lamina-opt %s -p convert-contraction-to-vector --machine x86-64-avx512 | filecheck %s
// RUN: lamina-opt %s -p convert-contraction-to-vector --machine x86-64-avx512 | filecheck %s --check-prefix=SEVERAL
// The columns that whole panels leave over go strip by strip with the one group of panels, while rows of A are near;
// where there are several groups, rows of A come more than once anyhow, and they follow in loops of their own.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @one_group
// CHECK-SAME: rows=8 panels=3 row_blocks=1
// CHECK: affine.for %{{.*}} = 0 to 2 {
// CHECK-NOT: = 0 to 2 {
// CHECK: affine.for {{.*}} = 0 to 64 iter_args
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: = 0 to 2 {
// CHECK: affine.for {{.*}} = 0 to 64 step 16 iter_args
// CHECK: vector.reduction <add>
// CHECK-NOT: = 0 to 2 {
// CHECK: func.return
func.func private @one_group(%x: memref<16x64xf32>, %w: memref<4x64x16xf32>, %y: memref<16x49xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<16x49xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<16x64xf32>, memref<4x64x16xf32>) outs(%y : memref<16x49xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
// SEVERAL-LABEL: func.func private @two_groups
// SEVERAL-SAME: rows=8 panels=3 row_blocks=1
// SEVERAL: affine.for %{{.*}} = 0 to 2 {
// SEVERAL: affine.for %{{.*}} = 0 to 2 {
// SEVERAL: affine.for {{.*}} = 0 to 64 iter_args
// SEVERAL: affine.for %{{.*}} = 0 to 2 {
// SEVERAL-NOT: affine.for {{.*}} = 0 to 64 iter_args
// SEVERAL: affine.for {{.*}} = 0 to 64 step 16 iter_args
// SEVERAL: func.return
func.func private @two_groups(%x: memref<16x64xf32>, %w: memref<7x64x16xf32>, %y: memref<16x97xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<16x97xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<16x64xf32>, memref<7x64x16xf32>) outs(%y : memref<16x97xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Three panels of a line each where B is not packed.
#q = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func.func private @in_place
// CHECK-SAME: panels=3
// CHECK-COUNT-3: affine.vector_load {{.*}} : memref<3072xf32>, vector<16xf32>
// CHECK-NOT: vector<32xf32>
// CHECK: func.return
func.func private @in_place(%x: memref<8x64xf32>, %w: memref<64x48xf32>, %y: memref<8x48xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8x48xf32>)
  linalg.generic {indexing_maps = [#a, #q, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<8x64xf32>, memref<64x48xf32>) outs(%y : memref<8x48xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
