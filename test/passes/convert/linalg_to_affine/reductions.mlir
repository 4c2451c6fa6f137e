// Where a reduction keeps its value: in the loop, unrolled in registers, or in the output's memory.
// RUN: lamina-opt %s -p convert-linalg-to-affine | filecheck %s
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// Along memory: carried by the innermost loop, started from the fill.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: affine.for{{.*}}store
// CHECK: affine.for %[[I:.*]] = 0 to 8 {
// CHECK-NEXT: %[[SUM:.*]] = affine.for %[[J:.*]] = 0 to 100 iter_args(%[[ACC:.*]] = %zero) -> (f32) {
// CHECK-NEXT: %[[A:.*]] = affine.load %x[%[[I]], %[[J]]] : memref<8x100xf32>
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[ACC]], %[[A]] : f32
// CHECK-NEXT: affine.yield %[[S]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: affine.store %[[SUM]], %y[%[[I]]] : memref<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @rows(%x: memref<8x100xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x100xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// Across memory and long: the parallel loop stays innermost, the sum in memory.
// CHECK-LABEL: func.func @columns
// CHECK: affine.for %[[K:.*]] = 0 to 100 {
// CHECK-NEXT: affine.store %zero, %y[%[[K]]]
// CHECK: affine.for %[[I:.*]] = 0 to 800 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 100 {
// CHECK-NEXT: %[[OLD:.*]] = affine.load %y[%[[J]]]
// CHECK-NEXT: %[[A:.*]] = affine.load %x[%[[I]], %[[J]]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[OLD]], %[[A]] : f32
// CHECK-NEXT: affine.store %[[S]], %y[%[[J]]]
func.func @columns(%x: memref<800x100xf32>, %y: memref<100xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<100xf32>)
  linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<800x100xf32>) outs(%y : memref<100xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// Across memory and short: unrolled inside the parallel loop.
// CHECK-LABEL: func.func @short
// CHECK-NEXT: %zero = arith.constant
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 100 {
// CHECK-NEXT: %[[A:.*]] = affine.load %x[0, %[[J]]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %zero, %[[A]] : f32
// CHECK-NEXT: %[[B:.*]] = affine.load %x[1, %[[J]]]
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[S]], %[[B]] : f32
// CHECK-NEXT: affine.store %[[T]], %y[%[[J]]]
func.func @short(%x: memref<2x100xf32>, %y: memref<100xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<100xf32>)
  linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<2x100xf32>) outs(%y : memref<100xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// Two results and the loop's index: an arg max.
// CHECK-LABEL: func.func @argmax
// CHECK: %[[R:.*]], %[[P:.*]] = affine.for %[[J:.*]] = 0 to 100 iter_args(%[[M:.*]] = %{{.*}}, %[[N:.*]] = %{{.*}}) -> (f32, i64) {
// CHECK: arith.index_cast %[[J]] : index to i64
// CHECK: affine.yield %{{.*}}, %{{.*}} : f32, i64
// CHECK: affine.store %[[R]], %v[] : memref<f32>
// CHECK: affine.store %[[P]], %p[] : memref<i64>
func.func @argmax(%x: memref<100xf32>, %v: memref<f32>, %p: memref<i64>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<100xf32>) outs(%v, %p : memref<f32>, memref<i64>) {
  ^bb0(%a: f32, %m: f32, %n: i64):
    %i = linalg.index 0 : index
    %here = arith.index_cast %i : index to i64
    %more = arith.cmpf ogt, %a, %m : f32
    %value = arith.select %more, %a, %m : f32
    %place = arith.select %more, %here, %n : i64
    linalg.yield %value, %place : f32, i64
  }
  func.return
}

// A scan: one output is carried, the other has a place for every step.
// CHECK-LABEL: func.func @scan
// CHECK: affine.for %[[I:.*]] = 0 to 3 {
// CHECK: affine.for %[[J:.*]] = 0 to 100 iter_args(%[[T:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[S:.*]] = arith.addf %[[T]], %{{.*}} : f32
// CHECK-NEXT: affine.store %[[S]], %y[%[[I]], %[[J]]]
// CHECK-NEXT: affine.yield %[[S]] : f32
func.func @scan(%x: memref<3x100xf32>, %t: memref<3xf32>, %y: memref<3x100xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x100xf32>) outs(%t, %y : memref<3xf32>, memref<3x100xf32>) {
  ^bb0(%a: f32, %total: f32, %old: f32):
    %s = arith.addf %total, %a : f32
    linalg.yield %s, %s : f32, f32
  }
  func.return
}

// Down the columns it runs along the rows.
// CHECK-LABEL: func.func @scan_down
// CHECK: affine.for %[[I:.*]] = 0 to 100 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 8 {
// CHECK: affine.store %{{.*}}, %t[%[[J]]]
// CHECK-NEXT: affine.store %{{.*}}, %y[%[[I]], %[[J]]]
func.func @scan_down(%x: memref<100x8xf32>, %t: memref<8xf32>, %y: memref<100x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<100x8xf32>) outs(%t, %y : memref<8xf32>, memref<100x8xf32>) {
  ^bb0(%a: f32, %total: f32, %old: f32):
    %s = arith.addf %total, %a : f32
    linalg.yield %s, %s : f32, f32
  }
  func.return
}

// What a condition leaves out are rows: the innermost loop runs along them, though the conditions do not.
// CHECK-LABEL: func.func @masked
// CHECK: affine.for %[[B:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[T:.*]] = 0 to 90 {
// CHECK-NEXT: %[[M:.*]] = affine.load %mask[%[[B]], %[[T]]]
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 64 {
// CHECK: affine.load %x[%[[B]], %[[T]], %[[C]]]
// CHECK: arith.select %[[M]]
func.func @masked(%x: memref<2x90x64xf32>, %mask: memref<2x90xi1>, %y: memref<2x64xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(b, t, c) -> (b, t)>, affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b, c)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%mask, %x : memref<2x90xi1>, memref<2x90x64xf32>) outs(%y : memref<2x64xf32>) {
  ^bb0(%m: i1, %v: f32, %sum: f32):
    %t = arith.select %m, %v, %zero : f32
    %s = arith.addf %sum, %t : f32
    linalg.yield %s : f32
  }
  func.return
}
