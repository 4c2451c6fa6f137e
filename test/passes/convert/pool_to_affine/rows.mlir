// RUN: lamina-opt %s -p convert-pool-to-affine --machine x86-64-avx2 | filecheck %s

#x = affine_map<(c, h, w, i, j) -> (c, h * 2 + i, w * 2 + j)>
#k = affine_map<(c, h, w, i, j) -> (i, j)>
#y = affine_map<(c, h, w, i, j) -> (c, h, w)>
#id = affine_map<(c, h, w) -> (c, h, w)>
#last = affine_map<(c, h, w) -> (w)>

// The padded image is not written. The first row of windows has no row above; then come the others, then all windows, and
// what follows. Two planes at a time: what is stored has arrived when it is loaded.
// CHECK-LABEL: func.func private @padded
// CHECK:       affine.parallel (%[[C:.*]]) = (0) to (32) {
// CHECK-NEXT:    %[[ROWS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2x16x48xf32>
// CHECK:           affine.store %{{.*}}, %[[ROWS]][%{{.*}}, %{{.*}}, 15]
// CHECK:         affine.for %[[P:.*]] = 0 to 2 {
// CHECK-NEXT:      affine.for %[[W:.*]] = 0 to 30 {
// CHECK-NEXT:        affine.load %x[%[[P]] + %[[C]] * 2, 0, %[[W]]]
// CHECK-NEXT:        affine.load %x[%[[P]] + %[[C]] * 2, 1, %[[W]]]
// CHECK-NEXT:        arith.maximumf
// CHECK-NEXT:        affine.store %{{.*}}, %[[ROWS]][%[[P]], 0, %[[W]] + 16]
// CHECK-NEXT:      }
// CHECK-NEXT:      affine.for %[[H:.*]] = 0 to 15 {
// CHECK-NEXT:        affine.for %[[W:.*]] = 0 to 30 {
// CHECK-NEXT:          affine.load %x[%[[P]] + %[[C]] * 2, %[[H]] * 2 + 1, %[[W]]]
// CHECK-NEXT:          affine.load %x[%[[P]] + %[[C]] * 2, %[[H]] * 2 + 2, %[[W]]]
// CHECK-NEXT:          affine.load %x[%[[P]] + %[[C]] * 2, %[[H]] * 2 + 3, %[[W]]]
// CHECK-NEXT:          arith.maximumf
// CHECK-NEXT:          arith.maximumf
// CHECK-NEXT:          affine.store %{{.*}}, %[[ROWS]][%[[P]], %[[H]] + 1, %[[W]] + 16]
// CHECK:         affine.for %[[P:.*]] = 0 to 2 {
// CHECK-NEXT:      affine.for %[[H:.*]] = 0 to 16 {
// CHECK-NEXT:        affine.for %[[W:.*]] = 0 to 15 {
// CHECK-NEXT:          affine.load %[[ROWS]][%[[P]], %[[H]], %[[W]] * 2 + 15]
// CHECK-NEXT:          arith.maximumf
// CHECK-NEXT:          affine.load %[[ROWS]][%[[P]], %[[H]], %[[W]] * 2 + 16]
// CHECK-NEXT:          arith.maximumf
// CHECK-NEXT:          affine.load %[[ROWS]][%[[P]], %[[H]], %[[W]] * 2 + 17]
// CHECK-NEXT:          %[[M:.*]] = arith.maximumf
// CHECK-NEXT:          %[[B:.*]] = affine.load %b[%[[W]]]
// CHECK-NEXT:          %[[S:.*]] = arith.addf %[[M]], %[[B]]
// CHECK-NEXT:          affine.store %[[S]], %y[%[[P]] + %[[C]] * 2, %[[H]], %[[W]]]
// CHECK-NOT:   linalg
func.func private @padded(%x: memref<64x32x31xf32>, %b: memref<15xf32>, %y: memref<64x16x15xf32>, %p: memref<64x33x32xf32>) attributes {lamina.kernel = "pool", lamina.scratch = 1 : i64} {
  %low = arith.constant 0xff800000 : f32
  %window = memref.alloca() : memref<3x3xf32>
  %above = memref.subview %p[0, 0, 0] [64, 1, 32] [1, 1, 1] : memref<64x33x32xf32> to memref<64x1x32xf32, strided<[1056, 32, 1]>>
  linalg.fill ins(%low : f32) outs(%above : memref<64x1x32xf32, strided<[1056, 32, 1]>>)
  %left = memref.subview %p[0, 1, 0] [64, 32, 1] [1, 1, 1] : memref<64x33x32xf32> to memref<64x32x1xf32, strided<[1056, 32, 1], offset: 32>>
  linalg.fill ins(%low : f32) outs(%left : memref<64x32x1xf32, strided<[1056, 32, 1], offset: 32>>)
  %in = memref.subview %p[0, 1, 1] [64, 32, 31] [1, 1, 1] : memref<64x33x32xf32> to memref<64x32x31xf32, strided<[1056, 32, 1], offset: 33>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<64x32x31xf32>) outs(%in : memref<64x32x31xf32, strided<[1056, 32, 1], offset: 33>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.fill ins(%low : f32) outs(%y : memref<64x16x15xf32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : memref<64x33x32xf32>, memref<3x3xf32>) outs(%y : memref<64x16x15xf32>) {
  ^bb0(%a: f32, %k: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#last, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b : memref<15xf32>) outs(%y : memref<64x16x15xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// More rows than there is memory for are taken in blocks; those that are alike are a loop. A little work needs no threads.
// CHECK-LABEL: func.func private @blocks
// CHECK:       memref.alloca() {alignment = 64 : i64} : memref<1x5x800xi32>
// CHECK-NOT:   affine.parallel
// CHECK:       affine.for %[[B:.*]] = 0 to 2 {
// CHECK-NEXT:    affine.for %[[H:.*]] = 0 to 5 {
// CHECK-NEXT:      affine.for %[[W:.*]] = 0 to 795 {
// CHECK-NEXT:        affine.load %x[0, %[[B]] * 10 + %[[H]] * 2, %[[W]]]
// CHECK-NOT:   linalg
func.func private @blocks(%x: memref<1x21x795xi32>, %y: memref<1x10x397xi32>) attributes {lamina.kernel = "pool"} {
  %low = arith.constant 0 : i32
  %window = memref.alloca() : memref<3x3xi32>
  linalg.fill ins(%low : i32) outs(%y : memref<1x10x397xi32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %window : memref<1x21x795xi32>, memref<3x3xi32>) outs(%y : memref<1x10x397xi32>) {
  ^bb0(%a: i32, %k: i32, %o: i32):
    %m = arith.addi %a, %o : i32
    linalg.yield %m : i32
  }
  func.return
}

// What is around the image would be counted once for each row: left as it is.
// CHECK-LABEL: func.func private @counted
// CHECK-SAME:  lamina.not_tiled = "what is around the image counts"
// CHECK:       linalg.generic
func.func private @counted(%x: memref<64x32x31xi32>, %y: memref<64x16x15xi32>, %p: memref<64x33x31xi32>) attributes {lamina.kernel = "pool", lamina.scratch = 1 : i64} {
  %one = arith.constant 1 : i32
  %window = memref.alloca() : memref<3x3xi32>
  %above = memref.subview %p[0, 0, 0] [64, 1, 31] [1, 1, 1] : memref<64x33x31xi32> to memref<64x1x31xi32, strided<[1023, 31, 1]>>
  linalg.fill ins(%one : i32) outs(%above : memref<64x1x31xi32, strided<[1023, 31, 1]>>)
  %in = memref.subview %p[0, 1, 0] [64, 32, 31] [1, 1, 1] : memref<64x33x31xi32> to memref<64x32x31xi32, strided<[1023, 31, 1], offset: 31>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<64x32x31xi32>) outs(%in : memref<64x32x31xi32, strided<[1023, 31, 1], offset: 31>>) {
  ^bb0(%a: i32, %o: i32):
    linalg.yield %a : i32
  }
  linalg.fill ins(%one : i32) outs(%y : memref<64x16x15xi32>)
  linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : memref<64x33x31xi32>, memref<3x3xi32>) outs(%y : memref<64x16x15xi32>) {
  ^bb0(%a: i32, %k: i32, %o: i32):
    %m = arith.addi %a, %o : i32
    linalg.yield %m : i32
  }
  func.return
}
