// RUN: lamina-opt %s -p convert-depthwise-to-vector --machine x86-64-avx2 | filecheck %s

#x = affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>
#x2 = affine_map<(n, c, h, w, i, j) -> (0, c, h * 2 + i, w * 2 + j)>
#k = affine_map<(n, c, h, w, i, j) -> (c, i, j)>
#y = affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>

// Rows of the image go where the padded image would be read; 14 rows are two tiles, 14 columns two vectors that overlap. Small planes
// are copied some at a time.
// A row of the tile is loaded once for all sums that it is part of: 9 rows, 21 products for a column of the window.
// CHECK-LABEL: func.func private @padded
// CHECK:       %[[ROWS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2048xf32>
// CHECK:       affine.for %{{.*}} = 0 to 8 step 8
// CHECK:         affine.vector_load %{{.*}} : memref<1568xf32>, vector<8xf32>
// CHECK-NEXT:    affine.vector_store %{{.*}}, %[[ROWS]]
// CHECK:         affine.for %{{.*}} = 0 to min affine_map<() -> (2, 2)>()
// CHECK:           affine.load %{{.*}} : memref<72xf32>
// CHECK-COUNT-9:   affine.vector_load %[[ROWS]]
// CHECK:           affine.load %{{.*}} : memref<72xf32>
// CHECK-COUNT-9:   affine.vector_load %[[ROWS]]
// CHECK:           affine.load %{{.*}} : memref<72xf32>
// CHECK-COUNT-9:   affine.vector_load %[[ROWS]]
// CHECK-NOT:       affine.vector_load
// CHECK:           arith.maximumf %{{.*}} : vector<8xf32>
// CHECK:           affine.vector_store %{{.*}} : memref<1568xf32>
// CHECK-NOT:   linalg
func.func private @padded(%x: memref<1x8x14x14xf32>, %k: memref<8x3x3xf32>, %y: memref<1x8x14x14xf32>, %p: memref<1x8x16x16xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  %row = memref.subview %p[0, 0, 0, 0] [1, 8, 1, 16] [1, 1, 1, 1] : memref<1x8x16x16xf32> to memref<1x8x1x16xf32, strided<[2048, 256, 16, 1]>>
  linalg.fill ins(%zero : f32) outs(%row : memref<1x8x1x16xf32, strided<[2048, 256, 16, 1]>>)
  %in = memref.subview %p[0, 0, 1, 1] [1, 8, 14, 14] [1, 1, 1, 1] : memref<1x8x16x16xf32> to memref<1x8x14x14xf32, strided<[2048, 256, 16, 1], offset: 17>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : memref<1x8x14x14xf32>) outs(%in : memref<1x8x14x14xf32, strided<[2048, 256, 16, 1], offset: 17>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<1x8x14x14xf32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %k : memref<1x8x16x16xf32>, memref<8x3x3xf32>) outs(%y : memref<1x8x14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<1x8x14x14xf32>) {
  ^bb0(%o: f32):
    %r = arith.maximumf %o, %zero : f32
    linalg.yield %r : f32
  }
  func.return
}

// Every second column: even ones and odd ones are taken apart as they are copied, so that all loads are of neighbours.
// CHECK-LABEL: func.func private @strided
// CHECK:         vector.shuffle %[[A:.*]], %[[B:.*]] [0, 2, 4, 6, 8, 10, 12, 14] : vector<8xf32>, vector<8xf32>
// CHECK:         vector.shuffle %[[A]], %[[B]] [1, 3, 5, 7, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>
// CHECK:         vector.fma
// CHECK-NOT:   linalg
func.func private @strided(%x: memref<1x2x17x17xf32>, %k: memref<2x3x3xf32>, %y: memref<1x2x8x8xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x2x8x8xf32>)
  linalg.generic {indexing_maps = [#x2, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %k : memref<1x2x17x17xf32>, memref<2x3x3xf32>) outs(%y : memref<1x2x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  func.return
}

// Sums that begin with what is there are left for loops.
// CHECK-LABEL: func.func private @added
// CHECK-SAME:  lamina.not_tiled = "the sums are added to what is there"
// CHECK:       linalg.generic
func.func private @added(%x: memref<1x2x10x10xf32>, %k: memref<2x3x3xf32>, %y: memref<1x2x8x8xf32>) attributes {lamina.kernel = "depthwise"} {
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %k : memref<1x2x10x10xf32>, memref<2x3x3xf32>) outs(%y : memref<1x2x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  func.return
}
