// RUN: lamina-opt %s -p convert-contraction-to-vector | filecheck %s
// Pairs of 16 bits: 33 along k are 16 pairs and one left over. The sums need no memory: only what the epilogue makes
// of them is stored.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2 floordiv 2, d1 mod 16, d2 mod 2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func private @kernel
// CHECK-SAME: lamina.schedule = "rows=4
// CHECK: affine.for %[[PANEL:.*]] = 0 to 2 {
// CHECK: affine.for %[[K:.*]] = 0 to 32 step 2 iter_args
// CHECK-NEXT: %[[B:.*]] = affine.vector_load %{{.*}}[%{{.*}} + %[[K]] * 16] : memref<1632xi16>, vector<32xi16>
// CHECK-NEXT: %[[A:.*]] = affine.vector_load %{{.*}}[%{{.*}} + %[[K]]{{.*}}] : memref<132xi16>, vector<2xi16>
// CHECK-NEXT: %[[W:.*]] = vector.bitcast %[[A]] : vector<2xi16> to vector<1xi32>
// CHECK-NEXT: %[[X:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
// CHECK-NEXT: %[[Y:.*]] = vector.broadcast %[[X]] : i32 to vector<16xi32>
// CHECK-NEXT: %[[Z:.*]] = vector.bitcast %[[Y]] : vector<16xi32> to vector<32xi16>
// CHECK: dot.product %[[Z]], %[[B]], %{{.*}} : vector<32xi16>, vector<32xi16> into vector<16xi32>
// CHECK: affine.yield
// CHECK: affine.load %{{.*}} : memref<132xi16>
// CHECK: vector.insert
// CHECK: dot.product
// CHECK: arith.sitofp
// CHECK-NOT: affine.vector_store %{{.*}} : memref<{{.*}}xi32>
// CHECK: affine.vector_store %{{.*}} : memref<160xf32>, vector<16xf32>
func.func private @kernel(%x: memref<4x33xi16>, %w: memref<3x17x16x2xi16>, %y: memref<4x40xf32>, %sums: memref<4x40xi32>) attributes {lamina.kernel = "contraction", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%sums : memref<4x40xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<4x33xi16>, memref<3x17x16x2xi16>) outs(%sums : memref<4x40xi32>) {
  ^bb0(%l: i16, %r: i16, %o: i32):
    %u = arith.extsi %l : i16 to i32
    %v = arith.extsi %r : i16 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<4x40xi32>) outs(%y : memref<4x40xf32>) {
  ^bb0(%s: i32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    linalg.yield %f : f32
  }
  func.return
}
