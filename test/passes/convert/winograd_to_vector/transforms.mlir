// RUN: lamina-opt %s -p convert-winograd-to-vector --machine x86-64-avx2 | filecheck %s

// Three kinds of columns: the first tile begins left of the image, the last ends right of it; rows by the bounds; rows of
// zeros are written once for all tiles beside each other.
// CHECK-LABEL: func.func private @input
// CHECK: affine.parallel (%[[ROW:.*]]) = (0) to (4)
// CHECK: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<288xf32>
// CHECK: affine.for %{{.*}} = 0 to min
// CHECK-COUNT-6: affine.vector_store %{{.*}}, %[[S]]
// CHECK: affine.for %{{.*}} = max
// CHECK-COUNT-6: affine.vector_store %{{.*}}, %[[S]]
// CHECK: affine.for %[[C:.*]] = 0 to 128 step 8
// CHECK: affine.for %{{.*}} = max affine_map<(d0) -> (0, ((d0 * -4) + 1))>(%[[ROW]]) to min affine_map<(d0) -> (6, ((d0 * -4) + 15))>(%[[ROW]])
// CHECK-COUNT-5: affine.vector_load %{{.*}} : memref<25088xf32>, vector<8xf32>
// CHECK-NOT: affine.vector_load
// CHECK-COUNT-6: affine.vector_store %{{.*}}, %[[S]]
// CHECK: affine.for %{{.*}} = 0 to 6
// CHECK-COUNT-6: affine.vector_load %[[S]]
// CHECK-COUNT-6: affine.vector_store %{{.*}} : memref<73728xf32>, vector<8xf32>
// CHECK: affine.for %{{.*}} = 1 to 3
// CHECK-COUNT-6: affine.vector_load %{{.*}} : memref<25088xf32>, vector<8xf32>
// CHECK-NOT: linalg
func.func private @input(%x: memref<1x14x14x128xf32>, %v: memref<6x6x4x4x1x128xf32>) attributes {lamina.kernel = "winograd"} {
  linalg.winograd_input_transform {pad = array<i64: 1, 1>} fmr(F_4_3) ins(%x : memref<1x14x14x128xf32>) outs(%v : memref<6x6x4x4x1x128xf32>)
  func.return
}

// Three filters fit in a masked vector; the bias is added before the outputs are stored, nothing is filled before.
// CHECK-LABEL: func.func private @output
// CHECK-NOT: affine.parallel
// CHECK: vector.constant_mask [3] : vector<4xi1>
// CHECK: vector.maskedload %{{.*}} memref<192xf32>
// CHECK: affine.for %{{.*}} = 0 to min affine_map<(d0) -> (2, ((d0 * -2) + 3))>
// CHECK: %[[B:.*]] = vector.maskedload %{{.*}} memref<3xf32>
// CHECK: %[[Y:.*]] = arith.addf %{{.*}}, %[[B]] : vector<4xf32>
// CHECK: vector.maskedstore %{{.*}}, %[[Y]] : memref<36xf32>
// CHECK-NOT: linalg
func.func private @output(%m: memref<4x4x2x2x1x3xf32>, %bias: memref<3xf32>, %y: memref<1x3x4x3xf32>) attributes {lamina.kernel = "winograd"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x3x4x3xf32>)
  linalg.winograd_output_transform fmr(F_2_3) ins(%m : memref<4x4x2x2x1x3xf32>) outs(%y : memref<1x3x4x3xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, h, w, f) -> (f)>, affine_map<(n, h, w, f) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%bias : memref<3xf32>) outs(%y : memref<1x3x4x3xf32>) {
  ^bb0(%b: f32, %o: f32):
    %s = arith.addf %o, %b : f32
    linalg.yield %s : f32
  }
  func.return
}
