// RUN: lamina-opt %s -p convert-depthwise-to-vector --machine x86-64-avx512 | filecheck %s

#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#k = affine_map<(n, h, w, c, i, j) -> (i, j, 0, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>

// Twelve columns have windows inside of the image: two tiles of six, eight columns under each. Rows of the window that
// lie outside are not met by the loop over them; the first and the last column leave out a column of the window.
// CHECK-LABEL: func.func private @padded
// CHECK:       affine.for %[[ROW:.*]] = 0 to 14
// CHECK:         affine.for %{{.*}} = 0 to 2 {
// CHECK:           affine.for %{{.*}} = 0 to 2 {
// CHECK:             affine.for %{{.*}} = max affine_map<(d0) -> (0, {{.*}})>(%[[ROW]]) to min affine_map<(d0) -> (3, {{.*}})>(%[[ROW]]) iter_args
// CHECK-COUNT-3:       affine.vector_load %{{.*}} : memref<288xf32>, vector<16xf32>
// CHECK-COUNT-8:       affine.vector_load %{{.*}} : memref<6272xf32>, vector<16xf32>
// CHECK-NOT:           affine.vector_load
// CHECK:             affine.yield
// CHECK:             arith.maximumf %{{.*}} : vector<16xf32>
// CHECK-COUNT-6:     affine.vector_store
// CHECK:         affine.for %{{.*}} = 0 to 2 {
// CHECK:           affine.for {{.*}} iter_args
// CHECK-COUNT-2:     affine.vector_load %{{.*}} : memref<288xf32>, vector<16xf32>
// CHECK-COUNT-2:     affine.vector_load %{{.*}} : memref<6272xf32>, vector<16xf32>
// CHECK-NOT:         affine.vector_load
// CHECK:             affine.yield
// CHECK-NOT:   linalg
func.func private @padded(%x: memref<1x14x14x32xf32>, %k: memref<3x3x1x32xf32>, %y: memref<1x14x14x32xf32>, %p: memref<1x16x16x32xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  %row = memref.subview %p[0, 0, 0, 0] [1, 1, 16, 32] [1, 1, 1, 1] : memref<1x16x16x32xf32> to memref<1x1x16x32xf32, strided<[8192, 512, 32, 1]>>
  linalg.fill ins(%zero : f32) outs(%row : memref<1x1x16x32xf32, strided<[8192, 512, 32, 1]>>)
  %in = memref.subview %p[0, 1, 1, 0] [1, 14, 14, 32] [1, 1, 1, 1] : memref<1x16x16x32xf32> to memref<1x14x14x32xf32, strided<[8192, 512, 32, 1], offset: 544>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : memref<1x14x14x32xf32>) outs(%in : memref<1x14x14x32xf32, strided<[8192, 512, 32, 1], offset: 544>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<1x14x14x32xf32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %k : memref<1x16x16x32xf32>, memref<3x3x1x32xf32>) outs(%y : memref<1x14x14x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<1x14x14x32xf32>) {
  ^bb0(%o: f32):
    %m = arith.maximumf %o, %zero : f32
    linalg.yield %m : f32
  }
  func.return
}

// Words are multiplied as pairs, a number and its sign times a tap and zero; the epilogue narrows the sums.
// CHECK-LABEL: func.func private @words
// CHECK:       affine.for {{.*}} iter_args({{.*}}) -> (vector<16xi32>, {{.*}}) {
// CHECK:         affine.vector_load %{{.*}} : memref<288xi16>, vector<16xi16>
// CHECK:         %[[TAP:.*]] = arith.extui %{{.*}} : vector<16xi16> to vector<16xi32>
// CHECK:         vector.bitcast %[[TAP]] : vector<16xi32> to vector<32xi16>
// CHECK:         %[[X:.*]] = arith.extsi %{{.*}} : vector<16xi16> to vector<16xi32>
// CHECK:         %[[PAIRS:.*]] = vector.bitcast %[[X]] : vector<16xi32> to vector<32xi16>
// CHECK:         dot.product %[[PAIRS]], %{{.*}} : vector<32xi16>, vector<32xi16> into vector<16xi32>
// CHECK:       arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
// CHECK:       affine.vector_store %{{.*}} : memref<4608xi8>, vector<16xi8>
// CHECK-NOT:   linalg
func.func private @words(%x: memref<1x14x14x32xi16>, %k: memref<3x3x1x32xi16>, %y: memref<1x12x12x32xi8>, %s: memref<1x12x12x32xi32>) attributes {lamina.kernel = "depthwise", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%s : memref<1x12x12x32xi32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %k : memref<1x14x14x32xi16>, memref<3x3x1x32xi16>) outs(%s : memref<1x12x12x32xi32>) {
  ^bb0(%a: i16, %b: i16, %o: i32):
    %c = arith.extsi %a : i16 to i32
    %d = arith.extsi %b : i16 to i32
    %m = arith.muli %c, %d : i32
    %t = arith.addi %o, %m : i32
    linalg.yield %t : i32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : memref<1x12x12x32xi32>) outs(%y : memref<1x12x12x32xi8>) {
  ^bb0(%a: i32, %o: i8):
    %m = arith.trunci %a : i32 to i8
    linalg.yield %m : i8
  }
  func.return
}

// Groups of four: each of six columns is loaded once, and each of the four channels of a group spread over its lanes
// for the three taps that it is multiplied by.
// CHECK-LABEL: func.func private @groups
// CHECK:         affine.for {{.*}} iter_args
// CHECK-COUNT-4:   affine.vector_load %{{.*}} : memref<576xf32>, vector<16xf32>
// CHECK:           vector.shuffle %{{.*}} [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]
// CHECK:           vector.fma
// CHECK-COUNT-8:   affine.vector_load %{{.*}} : memref<576xf32>, vector<16xf32>
// CHECK:           vector.shuffle %{{.*}} [1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13]
// CHECK-COUNT-3:   affine.vector_load %{{.*}} : memref<576xf32>, vector<16xf32>
// CHECK-COUNT-3:   affine.vector_load %{{.*}} : memref<576xf32>, vector<16xf32>
// CHECK-NOT:       affine.vector_load
// CHECK:           affine.yield
// CHECK-NOT:   linalg
func.func private @groups(%x: memref<1x6x6x16xf32>, %k: memref<3x3x4x16xf32>, %y: memref<1x4x4x16xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x4x4x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, h, w, c, i, j, l) -> (n, h + i, w + j, c floordiv 4 * 4 + l)>, affine_map<(n, h, w, c, i, j, l) -> (i, j, l, c)>, affine_map<(n, h, w, c, i, j, l) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %k : memref<1x6x6x16xf32>, memref<3x3x4x16xf32>) outs(%y : memref<1x4x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  func.return
}
