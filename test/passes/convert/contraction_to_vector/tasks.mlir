// RUN: lamina-opt %s -p convert-contraction-to-vector | filecheck %s
// Enough work for two cores: blocks of rows are tasks; with one row, blocks of panels are.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @many_rows
// CHECK-SAME: rows=6 panels=1 row_blocks=2
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (2) {
// CHECK: affine.for %{{.*}} = affine_map<(d0) -> (((d0 * 20) floordiv 2))>(%{{.*}}) to affine_map<(d0) -> ((((d0 * 20) + 20) floordiv 2))>(%{{.*}}) {
func.func private @many_rows(%x: memref<120x256xf32>, %w: memref<4x256x16xf32>, %y: memref<120x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<120x64xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<120x256xf32>, memref<4x256x16xf32>) outs(%y : memref<120x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: func.func private @one_row
// CHECK-SAME: rows=1 panels=6 row_blocks=1 panel_blocks=2
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (2) {
// CHECK-NEXT: affine.for %{{.*}} = affine_map<(d0) -> (((d0 * 8) floordiv 2))>(%[[T]])
func.func private @one_row(%x: memref<1x768xf32>, %w: memref<48x768x16xf32>, %y: memref<1x768xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x768xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<1x768xf32>, memref<48x768x16xf32>) outs(%y : memref<1x768xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Groups of channels of a pixel: rows are shared out, not groups, whose neighbours another thread would have; 34 columns
// are two panels and two columns more, all of a task.
#ga = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#gb = affine_map<(d0, d1, d2, d3) -> (d1, d2 floordiv 16, d3, d2 mod 16)>
#gc = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func private @groups
// CHECK-SAME: row_blocks=2 panel_blocks=1
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (8) {
// CHECK-DAG: %[[ROWS:.*]] = affine.apply affine_map<(d0) -> ((d0 floordiv 4))> (%[[T]])
// CHECK-DAG: %[[GROUP:.*]] = affine.apply affine_map<(d0) -> ((d0 mod 4))> (%[[T]])
// CHECK: affine.for %{{.*}} = affine_map<{{.*}}>(%[[ROWS]])
// CHECK: affine.for %{{.*}} = affine_map<{{.*}}>(%{{.*}})
// CHECK-NOT: affine.parallel
// CHECK: func.return
func.func private @groups(%x: memref<784x4x34xf32>, %w: memref<4x3x34x16xf32>, %y: memref<784x4x34xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<784x4x34xf32>)
  linalg.generic {indexing_maps = [#ga, #gb, #gc], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<784x4x34xf32>, memref<4x3x34x16xf32>) outs(%y : memref<784x4x34xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
