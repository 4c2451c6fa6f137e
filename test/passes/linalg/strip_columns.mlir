// RUN: lamina-opt %s --machine x86-64-avx512 -p linalg-strip-columns | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx512 -p linalg-strip-columns | lamina-opt | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx512 -p linalg-strip-columns,convert-linalg-to-affine,affine-loop-fusion,affine-parallelize,affine-narrow-scratch | filecheck %s --check-prefix=LOOPS

#all = affine_map<(n, c, i, j) -> (n, c, i, j)>
#plane = affine_map<(n, c, i, j) -> (0, i, j)>
#bias = affine_map<(n, c, i, j) -> (c)>

// Planes of 64 x 64 numbers are 16 strips of 256. The strips of all planes, the result's and the sum's are parts of views;
// what has no planes is as it was.
// CHECK-LABEL: func.func private @norm
// CHECK:       %[[XC:.*]] = memref.collapse_shape %x {{.*}} : memref<1x30x64x64xf32> into memref<1x30x4096xf32>
// CHECK:       %[[X:.*]] = memref.expand_shape %[[XC]] {{.*}} output_shape [1, 30, 16, 256]
// CHECK:       affine.for %[[S:.*]] = 0 to 16 {
// CHECK:         %[[XS:.*]] = memref.subview %[[X]][0, 0, %[[S]], 0] [1, 30, 1, 256] [1, 1, 1, 1]
// CHECK:         linalg.fill
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, 0, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK-SAME:      %b
// CHECK:         arith.index_cast
// CHECK:       func.return

// One loop then, and the sums of a strip have a place of their own.
// LOOPS-LABEL: func.func private @norm
// LOOPS:       affine.parallel
// LOOPS-NEXT:    memref.alloca() {{.*}} : memref<1x1x256xf32>
// LOOPS-NOT:   affine.parallel
// LOOPS:       func.return
func.func private @norm(%x: memref<1x30x64x64xf32>, %b: memref<30xf32>, %y: memref<1x30x64x64xf32>,
                        %sum: memref<1x64x64xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x64x64xf32>)
  linalg.generic {indexing_maps = [#all, #plane], iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%x : memref<1x30x64x64xf32>) outs(%sum : memref<1x64x64xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#all, #plane, #bias, #all],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sum, %b : memref<1x30x64x64xf32>, memref<1x64x64xf32>, memref<30xf32>)
      outs(%y : memref<1x30x64x64xf32>) {
  ^bb0(%a: f32, %d: f32, %w: f32, %c: f32):
    %k = linalg.index 1 : index
    %i = arith.index_cast %k : index to i32
    %f = arith.sitofp %i : i32 to f32
    %q = arith.divf %a, %d : f32
    %s = arith.mulf %q, %f : f32
    %r = arith.addf %s, %w : f32
    linalg.yield %r : f32
  }
  func.return
}

// Images one after the other: the first cache holds strips of 64 channels of 28 x 28 numbers, not of 96, of which the
// second one holds an image.
// CHECK-LABEL: func.func private @images
// CHECK:       affine.for %[[N:.*]] = 0 to 4 {
// CHECK-NEXT:    affine.for %[[S:.*]] = 0 to 7 {
// CHECK-NEXT:      memref.subview %{{.*}}[%[[N]], 0, %[[S]], 0] [1, 64, 1, 112] [1, 1, 1, 1]
// CHECK:       func.return
// LOOPS-LABEL: func.func private @images
// LOOPS:       affine.parallel (%{{.*}}, %{{.*}}) = (0, 0) to (4, 7)
// LOOPS-NOT:   affine.parallel
// LOOPS:       func.return
func.func private @images(%x: memref<4x64x28x28xf32>, %g: memref<4x64xf32>, %y: memref<4x64x28x28xf32>,
                          %sum: memref<4x28x28xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4x28x28xf32>)
  linalg.generic {indexing_maps = [#all, affine_map<(n, c, i, j) -> (n, i, j)>],
                  iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%x : memref<4x64x28x28xf32>) outs(%sum : memref<4x28x28xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#all, affine_map<(n, c, i, j) -> (n, i, j)>, affine_map<(n, c, i, j) -> (n, c)>, #all],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sum, %g : memref<4x64x28x28xf32>, memref<4x28x28xf32>, memref<4x64xf32>)
      outs(%y : memref<4x64x28x28xf32>) {
  ^bb0(%a: f32, %d: f32, %w: f32, %c: f32):
    %q = arith.divf %a, %d : f32
    %r = arith.mulf %q, %w : f32
    linalg.yield %r : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @whole_images
// CHECK:       affine.for %[[N:.*]] = 0 to 4 {
// CHECK-NEXT:    affine.for %[[S:.*]] = 0 to 1 {
// CHECK-NEXT:      memref.subview %{{.*}}[%[[N]], 0, %[[S]], 0] [1, 96, 1, 784] [1, 1, 1, 1]
// CHECK:       func.return
func.func private @whole_images(%x: memref<4x96x28x28xf32>, %y: memref<4x96x28x28xf32>, %sum: memref<4x28x28xf32>)
    attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4x28x28xf32>)
  linalg.generic {indexing_maps = [#all, affine_map<(n, c, i, j) -> (n, i, j)>],
                  iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%x : memref<4x96x28x28xf32>) outs(%sum : memref<4x28x28xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#all, affine_map<(n, c, i, j) -> (n, i, j)>, #all],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sum : memref<4x96x28x28xf32>, memref<4x28x28xf32>) outs(%y : memref<4x96x28x28xf32>) {
  ^bb0(%a: f32, %d: f32, %c: f32):
    %q = arith.divf %a, %d : f32
    linalg.yield %q : f32
  }
  func.return
}

// What asks which image it is stays as it is.
// CHECK-LABEL: func.func private @asks_for_image
// CHECK-NOT:   affine.for
// CHECK:       func.return
func.func private @asks_for_image(%x: memref<4x64x28x28xf32>, %y: memref<4x64x28x28xf32>, %sum: memref<4x28x28xf32>)
    attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4x28x28xf32>)
  linalg.generic {indexing_maps = [#all, affine_map<(n, c, i, j) -> (n, i, j)>],
                  iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%x : memref<4x64x28x28xf32>) outs(%sum : memref<4x28x28xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#all, affine_map<(n, c, i, j) -> (n, i, j)>, #all],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sum : memref<4x64x28x28xf32>, memref<4x28x28xf32>) outs(%y : memref<4x64x28x28xf32>) {
  ^bb0(%a: f32, %d: f32, %c: f32):
    %k = linalg.index 0 : index
    %i = arith.index_cast %k : index to i32
    %f = arith.sitofp %i : i32 to f32
    %q = arith.divf %a, %d : f32
    %s = arith.mulf %q, %f : f32
    linalg.yield %s : f32
  }
  func.return
}

// What asks where in its plane it is stays as it is.
// CHECK-LABEL: func.func private @asks
// CHECK-NOT:   affine.for
// CHECK:       func.return
func.func private @asks(%x: memref<30x4096xf32>, %y: memref<30x4096xf32>, %sum: memref<4096xf32>)
    attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4096xf32>)
  linalg.generic {indexing_maps = [affine_map<(c, p) -> (c, p)>, affine_map<(c, p) -> (p)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<30x4096xf32>) outs(%sum : memref<4096xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [affine_map<(c, p) -> (c, p)>, affine_map<(c, p) -> (p)>, affine_map<(c, p) -> (c, p)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : memref<30x4096xf32>, memref<4096xf32>) outs(%y : memref<30x4096xf32>) {
  ^bb0(%a: f32, %d: f32, %c: f32):
    %k = linalg.index 1 : index
    %i = arith.index_cast %k : index to i32
    %f = arith.sitofp %i : i32 to f32
    %q = arith.divf %a, %d : f32
    %s = arith.mulf %q, %f : f32
    linalg.yield %s : f32
  }
  func.return
}

// A plane that no strip divides, whose length is a prime number, stays whole.
// CHECK-LABEL: func.func private @prime
// CHECK-NOT:   affine.for
// CHECK:       func.return
func.func private @prime(%x: memref<30x4099xf32>, %y: memref<30x4099xf32>, %sum: memref<4099xf32>)
    attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4099xf32>)
  linalg.generic {indexing_maps = [affine_map<(c, p) -> (c, p)>, affine_map<(c, p) -> (p)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<30x4099xf32>) outs(%sum : memref<4099xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [affine_map<(c, p) -> (c, p)>, affine_map<(c, p) -> (p)>, affine_map<(c, p) -> (c, p)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : memref<30x4099xf32>, memref<4099xf32>) outs(%y : memref<30x4099xf32>) {
  ^bb0(%a: f32, %d: f32, %c: f32):
    %q = arith.divf %a, %d : f32
    linalg.yield %q : f32
  }
  func.return
}
