// RUN: lamina-opt %s -p convert-separable-to-vector --machine x86-64-avx2 | filecheck %s

// Four blocks of 14 rows: each thread takes its own through all three steps, in its part of what lies between. Sixteen
// rows are widened, from the one above the block on but not from outside the image; rows of windows are made and taken
// two at a time. The padded image is not written, and nothing else of what lies between is touched.
// CHECK-LABEL: func.func private @separable
// CHECK-DAG: %[[X:.*]] = memref.collapse_shape %x
// CHECK-DAG: %[[E:.*]] = memref.collapse_shape %scratch [
// CHECK-DAG: %[[D:.*]] = memref.collapse_shape %scratch_2
// CHECK-DAG: %[[Y:.*]] = memref.collapse_shape %dst
// CHECK: affine.parallel (%[[T:.*]]) = (0) to ([[CORES:[0-9]+]])
// CHECK: %[[WIDE:.*]] = memref.subview %[[E]][%{{.*}}] [43008] [1] : memref<150528xf32> to memref<43008xf32, strided<[1], offset: ?>>
// CHECK: %[[SUMS:.*]] = memref.subview %[[D]][%{{.*}}] [5376] [1] : memref<150528xf32> to memref<5376xf32, strided<[1], offset: ?>>
// CHECK: affine.for %[[B:.*]] = affine_map<(d0) -> (((d0 * 4) floordiv [[CORES]]))>(%[[T]])
// CHECK: %[[FIRST:.*]] = affine.apply affine_map<(d0) -> ((d0 * 14))> (%[[B]])
// CHECK: %[[LEAST:.*]] = affine.min affine_map<(d0) -> ((d0 + -1), 40)> (%[[FIRST]])
// CHECK: %[[BASE:.*]] = affine.max affine_map<(d0) -> (d0, 0)>(%[[LEAST]])
// CHECK: %[[ROWS:.*]] = memref.subview %[[X]][%{{.*}}] [14336] [1]
// CHECK: affine.load %[[ROWS]]
// CHECK: vector.fma
// CHECK: arith.maximumf
// CHECK: affine.vector_store %{{.*}}, %[[WIDE]]
// CHECK: affine.for %[[S:.*]] = 0 to 7
// CHECK: affine.apply affine_map<(d0, d1) -> ((d0 + (d1 * 2)))> (%[[FIRST]], %[[S]])
// CHECK: affine.vector_load %[[WIDE]]
// CHECK: affine.vector_store %{{.*}}, %[[SUMS]]
// CHECK: %[[PART:.*]] = memref.subview %[[Y]]
// CHECK: affine.load %[[SUMS]]
// CHECK: affine.vector_store %{{.*}}, %[[PART]]
// CHECK-NOT: linalg.generic
func.func private @separable(%x: memref<1x56x56x16xf32>, %w: memref<3x16x16xf32>, %k: memref<3x3x48xf32>, %v: memref<1x48x16xf32>, %dst: memref<1x56x56x16xf32>, %scratch: memref<1x56x56x48xf32>, %scratch_1: memref<1x58x58x48xf32>, %scratch_2: memref<1x56x56x48xf32>) attributes {lamina.kernel = "separable", lamina.scratch = 3 : i64} {
  %zero = arith.constant 0.000000e+00 : f32
  linalg.fill ins(%zero : f32) outs(%scratch : memref<1x56x56x48xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ((d3 floordiv 16), d4, (d3 mod 16))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : memref<1x56x56x16xf32>, memref<3x16x16xf32>) outs(%scratch : memref<1x56x56x48xf32>) attrs = {lamina.block_rows = 14 : i64} {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%scratch : memref<1x56x56x48xf32>) {
  ^bb0(%o_1: f32):
    %m = arith.maximumf %o_1, %zero : f32
    linalg.yield %m : f32
  }
  %0 = memref.subview %scratch_1[0, 0, 0, 0] [1, 1, 58, 48] [1, 1, 1, 1] : memref<1x58x58x48xf32> to memref<1x1x58x48xf32, strided<[161472, 2784, 48, 1]>>
  linalg.fill ins(%zero : f32) outs(%0 : memref<1x1x58x48xf32, strided<[161472, 2784, 48, 1]>>)
  %1 = memref.subview %scratch_1[0, 57, 0, 0] [1, 1, 58, 48] [1, 1, 1, 1] : memref<1x58x58x48xf32> to memref<1x1x58x48xf32, strided<[161472, 2784, 48, 1], offset: 158688>>
  linalg.fill ins(%zero : f32) outs(%1 : memref<1x1x58x48xf32, strided<[161472, 2784, 48, 1], offset: 158688>>)
  %2 = memref.subview %scratch_1[0, 1, 0, 0] [1, 56, 1, 48] [1, 1, 1, 1] : memref<1x58x58x48xf32> to memref<1x56x1x48xf32, strided<[161472, 2784, 48, 1], offset: 2784>>
  linalg.fill ins(%zero : f32) outs(%2 : memref<1x56x1x48xf32, strided<[161472, 2784, 48, 1], offset: 2784>>)
  %3 = memref.subview %scratch_1[0, 1, 57, 0] [1, 56, 1, 48] [1, 1, 1, 1] : memref<1x58x58x48xf32> to memref<1x56x1x48xf32, strided<[161472, 2784, 48, 1], offset: 5520>>
  linalg.fill ins(%zero : f32) outs(%3 : memref<1x56x1x48xf32, strided<[161472, 2784, 48, 1], offset: 5520>>)
  %4 = memref.subview %scratch_1[0, 1, 1, 0] [1, 56, 56, 48] [1, 1, 1, 1] : memref<1x58x58x48xf32> to memref<1x56x56x48xf32, strided<[161472, 2784, 48, 1], offset: 2832>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scratch : memref<1x56x56x48xf32>) outs(%4 : memref<1x56x56x48xf32, strided<[161472, 2784, 48, 1], offset: 2832>>) {
  ^bb0(%5: f32, %6: f32):
    linalg.yield %5 : f32
  }
  linalg.fill ins(%zero : f32) outs(%scratch_2 : memref<1x56x56x48xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d4), (d2 + d5), d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%scratch_1, %k : memref<1x58x58x48xf32>, memref<3x3x48xf32>) outs(%scratch_2 : memref<1x56x56x48xf32>) attrs = {lamina.block_rows = 14 : i64, lamina.goes_on} {
  ^bb0(%l_1: f32, %r_1: f32, %o_2: f32):
    %p_1 = arith.mulf %l_1, %r_1 : f32
    %s_1 = arith.addf %o_2, %p_1 : f32
    linalg.yield %s_1 : f32
  }
  linalg.fill ins(%zero : f32) outs(%dst : memref<1x56x56x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ((d3 floordiv 16), d4, (d3 mod 16))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%scratch_2, %v : memref<1x56x56x48xf32>, memref<1x48x16xf32>) outs(%dst : memref<1x56x56x16xf32>) attrs = {lamina.block_rows = 14 : i64, lamina.goes_on} {
  ^bb0(%l_2: f32, %r_2: f32, %o_3: f32):
    %p_2 = arith.mulf %l_2, %r_2 : f32
    %s_2 = arith.addf %o_3, %p_2 : f32
    linalg.yield %s_2 : f32
  }
  func.return
}

// A kernel of another form is left for loops, with the reason.
// CHECK-LABEL: func.func private @another
// CHECK-SAME: lamina.not_tiled = "no depthwise convolution says in 'lamina.block_rows' how many rows are a block"
func.func private @another(%x: memref<8xf32>, %y: memref<8xf32>) attributes {lamina.kernel = "separable"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  func.return
}
