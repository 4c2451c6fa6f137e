// RUN: lamina-opt %s --machine x86-64-avx512 -p linalg-alternate-panels | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx512 -p linalg-alternate-panels,convert-contraction-to-vector | filecheck %s --check-prefix LOOPS

// Five rounds are two of two and one behind; every other one goes back through the matrix.
// CHECK-LABEL: func.func public @odd
// CHECK: %[[END:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[STEP:.*]] = arith.constant 2 : index
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[END]] step %[[STEP]] {
// CHECK: func.call @product(
// CHECK-NEXT: func.call @copy(
// CHECK: func.call @product_back(
// CHECK-NEXT: func.call @copy(
// CHECK-NEXT: }
// CHECK: func.call @product(
// CHECK-NEXT: func.call @copy(
// CHECK-NEXT: func.return
func.func public @odd(%h: memref<1x256xf32>, %constants: memref<262144xi8>) {
  %first = arith.constant 0 : index
  %end = arith.constant 5 : index
  %step = arith.constant 1 : index
  scf.for %i = %first to %end step %step {
    %place = arith.constant 0 : index
    %w = memref.view %constants[%place][] : memref<262144xi8> to memref<16x256x16xf32>
    %y = memref.alloc() : memref<1x256xf32>
    func.call @product(%h, %w, %y) : (memref<1x256xf32>, memref<16x256x16xf32>, memref<1x256xf32>) -> ()
    func.call @copy(%y, %h) : (memref<1x256xf32>, memref<1x256xf32>) -> ()
  }
  func.return
}

// Another matrix each time: there is nothing to find in the cache. One round is not repeated.
// CHECK-LABEL: func.func public @others
// CHECK-NOT: @product_back
// CHECK: func.return
func.func public @others(%h: memref<1x256xf32>, %w: memref<16x256x16xf32>, %all: memref<2097152xi8>) {
  %first = arith.constant 0 : index
  %end = arith.constant 2097152 : index
  %step = arith.constant 262144 : index
  scf.for %place = %first to %end step %step {
    %v = memref.view %all[%place][] : memref<2097152xi8> to memref<16x256x16xf32>
    %y = memref.alloc() : memref<1x256xf32>
    func.call @product(%h, %v, %y) : (memref<1x256xf32>, memref<16x256x16xf32>, memref<1x256xf32>) -> ()
    func.call @copy(%y, %h) : (memref<1x256xf32>, memref<1x256xf32>) -> ()
  }
  scf.for %i = %first to %step step %step {
    %y = memref.alloc() : memref<1x256xf32>
    func.call @product(%h, %w, %y) : (memref<1x256xf32>, memref<16x256x16xf32>, memref<1x256xf32>) -> ()
    func.call @copy(%y, %h) : (memref<1x256xf32>, memref<1x256xf32>) -> ()
  }
  func.return
}

func.func private @copy(%x: memref<1x256xf32>, %y: memref<1x256xf32>) attributes {lamina.kernel = "copy"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<1x256xf32>) outs(%y : memref<1x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @product(
// CHECK-NOT: lamina.back
// CHECK: func.func private @product_back(
// CHECK-SAME: lamina.back
// LOOPS-LABEL: func.func private @product(
// LOOPS: affine.for %[[GROUP:.*]] = 0 to 8 {
// LOOPS-NEXT: affine.apply affine_map<(d0) -> ((d0 * 2))> (%[[GROUP]])
// LOOPS-LABEL: func.func private @product_back(
// LOOPS: affine.for %[[GROUP:.*]] = 0 to 8 {
// LOOPS-NEXT: %[[LAST:.*]] = affine.apply affine_map<(d0) -> (((d0 * -1) + 7))> (%[[GROUP]])
// LOOPS-NEXT: affine.apply affine_map<(d0) -> ((d0 * 2))> (%[[LAST]])
func.func private @product(%x: memref<1x256xf32>, %w: memref<16x256x16xf32>, %y: memref<1x256xf32>) attributes {lamina.kernel = "contraction", lamina.schedule = "rows=1 panels=2"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x256xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<1x256xf32>, memref<16x256x16xf32>) outs(%y : memref<1x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// A schedule on what is no product is not ours to read.
// CHECK-LABEL: func.func public @no_product
// CHECK: func.call @other(
// CHECK: func.call @other(
func.func public @no_product(%h: memref<1x256xf32>, %y: memref<1x256xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 4 : index
  %step = arith.constant 1 : index
  func.call @other(%h, %y) : (memref<1x256xf32>, memref<1x256xf32>) -> ()
  scf.for %i = %first to %end step %step {
    func.call @other(%h, %y) : (memref<1x256xf32>, memref<1x256xf32>) -> ()
  }
  func.return
}
func.func private @other(%x: memref<1x256xf32>, %y: memref<1x256xf32>) attributes {lamina.kernel = "loops", lamina.schedule = "rows=1"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<1x256xf32>) outs(%y : memref<1x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}
