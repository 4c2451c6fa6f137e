// RUN: lamina-opt %s -p convert-pool-to-affine --machine x86-64-avx2 | filecheck %s

#x = affine_map<(h, w, c, i, j) -> (h * 2 + i, w * 2 + j, c)>
#k = affine_map<(h, w, c, i, j) -> (i, j)>
#y = affine_map<(h, w, c, i, j) -> (h, w, c)>
#id = affine_map<(h, w, c) -> (h, w, c)>

// The padded image is not written: the first row of windows has no row above, the first place in each no column on the
// left. Four elements of each channel, then six, then six and nine.
// CHECK-LABEL: func.func private @channels
// CHECK-NOT:   linalg
// CHECK:       affine.for %[[C:.*]] = 0 to 16 {
// CHECK-NEXT:    affine.load %x[0, 0, %[[C]]]
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    affine.load %x[0, 1, %[[C]]]
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    affine.load %x[1, 0, %[[C]]]
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    affine.load %x[1, 1, %[[C]]]
// CHECK-NEXT:    %[[M:.*]] = arith.maximumf
// CHECK-NEXT:    %[[S:.*]] = math.sqrt %[[M]]
// CHECK-NEXT:    affine.store %[[S]], %y[0, 0, %[[C]]]
// CHECK-NEXT:  }
// CHECK-NEXT:  affine.for %[[W:.*]] = 0 to 3 {
// CHECK-NEXT:    affine.for %[[C:.*]] = 0 to 16 {
// CHECK-NEXT:      affine.load %x[0, %[[W]] * 2 + 1, %[[C]]]
// CHECK:           affine.load %x[1, %[[W]] * 2 + 3, %[[C]]]
// CHECK-NEXT:      arith.maximumf
// CHECK-NEXT:      math.sqrt
// CHECK-NEXT:      affine.store %{{.*}}, %y[0, %[[W]] + 1, %[[C]]]
// CHECK:       affine.for %[[H:.*]] = 0 to 3 {
// CHECK-NEXT:    affine.for %[[C:.*]] = 0 to 16 {
// CHECK-NEXT:      affine.load %x[%[[H]] * 2 + 1, 0, %[[C]]]
// CHECK:           affine.store %{{.*}}, %y[%[[H]] + 1, 0, %[[C]]]
// CHECK:         affine.for %[[W:.*]] = 0 to 3 {
// CHECK-NEXT:      affine.for %[[C:.*]] = 0 to 16 {
// CHECK-NEXT:        affine.load %x[%[[H]] * 2 + 1, %[[W]] * 2 + 1, %[[C]]]
// CHECK:             affine.load %x[%[[H]] * 2 + 3, %[[W]] * 2 + 3, %[[C]]]
// CHECK:             affine.store %{{.*}}, %y[%[[H]] + 1, %[[W]] + 1, %[[C]]]
// CHECK-NOT:   linalg
func.func private @channels(%x: memref<8x8x16xf32>, %y: memref<4x4x16xf32>, %p: memref<9x9x16xf32>) attributes {lamina.kernel = "pool", lamina.scratch = 1 : i64} {
  %low = arith.constant 0xff800000 : f32
  %window = memref.alloca() : memref<3x3xf32>
  %above = memref.subview %p[0, 0, 0] [1, 9, 16] [1, 1, 1] : memref<9x9x16xf32> to memref<1x9x16xf32, strided<[144, 16, 1]>>
  linalg.fill ins(%low : f32) outs(%above : memref<1x9x16xf32, strided<[144, 16, 1]>>)
  %left = memref.subview %p[1, 0, 0] [8, 1, 16] [1, 1, 1] : memref<9x9x16xf32> to memref<8x1x16xf32, strided<[144, 16, 1], offset: 144>>
  linalg.fill ins(%low : f32) outs(%left : memref<8x1x16xf32, strided<[144, 16, 1], offset: 144>>)
  %in = memref.subview %p[1, 1, 0] [8, 8, 16] [1, 1, 1] : memref<9x9x16xf32> to memref<8x8x16xf32, strided<[144, 16, 1], offset: 160>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<8x8x16xf32>) outs(%in : memref<8x8x16xf32, strided<[144, 16, 1], offset: 160>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.fill ins(%low : f32) outs(%y : memref<4x4x16xf32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : memref<9x9x16xf32>, memref<3x3xf32>) outs(%y : memref<4x4x16xf32>) {
  ^bb0(%a: f32, %k: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%y : memref<4x4x16xf32>) {
  ^bb0(%o: f32):
    %s = math.sqrt %o : f32
    linalg.yield %s : f32
  }
  func.return
}

// Large windows with much around the image would be code for each of their places.
// CHECK-LABEL: func.func private @many
// CHECK-SAME:  lamina.not_tiled = "there are too many kinds of rows"
// CHECK:       linalg.generic
func.func private @many(%x: memref<20x20x16xf32>, %y: memref<20x20x16xf32>, %p: memref<28x28x16xf32>) attributes {lamina.kernel = "pool", lamina.scratch = 1 : i64} {
  %low = arith.constant 0xff800000 : f32
  %window = memref.alloca() : memref<9x9xf32>
  %above = memref.subview %p[0, 0, 0] [4, 28, 16] [1, 1, 1] : memref<28x28x16xf32> to memref<4x28x16xf32, strided<[448, 16, 1]>>
  linalg.fill ins(%low : f32) outs(%above : memref<4x28x16xf32, strided<[448, 16, 1]>>)
  %in = memref.subview %p[4, 4, 0] [20, 20, 16] [1, 1, 1] : memref<28x28x16xf32> to memref<20x20x16xf32, strided<[448, 16, 1], offset: 1856>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<20x20x16xf32>) outs(%in : memref<20x20x16xf32, strided<[448, 16, 1], offset: 1856>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.fill ins(%low : f32) outs(%y : memref<20x20x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(h, w, c, i, j) -> (h + i, w + j, c)>, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : memref<28x28x16xf32>, memref<9x9xf32>) outs(%y : memref<20x20x16xf32>) {
  ^bb0(%a: f32, %k: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  }
  func.return
}
