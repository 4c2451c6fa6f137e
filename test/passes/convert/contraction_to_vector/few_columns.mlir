// RUN: lamina-opt %s -p convert-contraction-to-vector --machine x86-64-avx2 | filecheck %s
// The seventeenth column has its sums' lanes along k; a depth of no whole vectors has not. Strips of rows find its
// elements side by side; those of a batch have columns of their own. Three columns are so if the sum is long.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @whole
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK: affine.for %[[K:.*]] = 0 to 64 step 8 iter_args
// CHECK-COUNT-8: vector.insert
// CHECK: affine.vector_load %{{.*}}[%{{.*}} + %[[K]]] : memref<128xf32>, vector<8xf32>
// CHECK: vector.fma {{.*}} : vector<8xf32>
// CHECK: vector.reduction <add>, %{{.*}} fastmath<reassoc> : vector<8xf32> into f32
// CHECK: affine.vector_store {{.*}} : memref<34xf32>, vector<1xf32>
func.func private @whole(%x: memref<2x64xf32>, %w: memref<2x64x16xf32>, %y: memref<2x17xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<2x17xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<2x64xf32>, memref<2x64x16xf32>) outs(%y : memref<2x17xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @odd
// CHECK-NOT: vector.reduction
func.func private @odd(%x: memref<2x63xf32>, %w: memref<2x63x16xf32>, %y: memref<2x17xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<2x17xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<2x63xf32>, memref<2x63x16xf32>) outs(%y : memref<2x17xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @strips
// CHECK: %[[BESIDE:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK: affine.for %[[I:.*]] = 0 to 64 {
// CHECK-NEXT: %[[B:.*]] = affine.load %{{.*}}[%{{.*}} + %[[I]] * 16] : memref<2048xf32>
// CHECK-NEXT: affine.store %[[B]], %[[BESIDE]][%[[I]]] : memref<64xf32>
// CHECK: affine.for %[[K:.*]] = 0 to 64 step 8 iter_args
// CHECK-NOT: vector.insert
// CHECK: affine.vector_load %[[BESIDE]][%[[K]]] : memref<64xf32>, vector<8xf32>
func.func private @strips(%x: memref<24x64xf32>, %w: memref<2x64x16xf32>, %y: memref<24x17xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<24x17xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<24x64xf32>, memref<2x64x16xf32>) outs(%y : memref<24x17xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @batch
// CHECK-NOT: memref.alloca
// CHECK: vector.insert
func.func private @batch(%x: memref<2x24x64xf32>, %w: memref<2x2x64x16xf32>, %y: memref<2x24x17xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<2x24x17xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2 floordiv 16, d3, d2 mod 16)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<2x24x64xf32>, memref<2x2x64x16xf32>) outs(%y : memref<2x24x17xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @three
// CHECK: %[[BESIDE:.*]] = memref.alloca() {{.*}} : memref<768xf32>
// CHECK: affine.store %{{.*}}, %[[BESIDE]][%{{.*}} + 512] : memref<768xf32>
// CHECK: affine.for %[[K:.*]] = 0 to 256 step 8 iter_args
// CHECK: affine.vector_load %[[BESIDE]][%[[K]]] : memref<768xf32>, vector<8xf32>
// CHECK: affine.vector_load %[[BESIDE]][%[[K]] + 256] : memref<768xf32>, vector<8xf32>
// CHECK: affine.vector_load %[[BESIDE]][%[[K]] + 512] : memref<768xf32>, vector<8xf32>
// CHECK-COUNT-9: vector.fma {{.*}} : vector<8xf32>
// CHECK-COUNT-9: vector.reduction <add>
// CHECK: vector.maskedstore {{.*}} vector<4xf32>
func.func private @three(%x: memref<24x256xf32>, %w: memref<2x256x16xf32>, %y: memref<24x19xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<24x19xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<24x256xf32>, memref<2x256x16xf32>) outs(%y : memref<24x19xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @three_short
// CHECK-NOT: memref.alloca
// CHECK-NOT: vector.reduction
func.func private @three_short(%x: memref<24x64xf32>, %w: memref<2x64x16xf32>, %y: memref<24x19xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<24x19xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<24x64xf32>, memref<2x64x16xf32>) outs(%y : memref<24x19xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
