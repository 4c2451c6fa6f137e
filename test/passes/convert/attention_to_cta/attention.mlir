// RUN: lamina-opt %s -p convert-attention-to-cta | filecheck %s

// A block of queries goes along the keys with the highest score, the sum of weights and the sums of values so far.
// CHECK-LABEL: func.func private @plain
// CHECK-NEXT: cta.program {sizes = array<i64: 12, 512, 64>, tile = array<i64: 1, 64, 64>, schedule = {unit = "mma", rows = 64 : i64, columns = 64 : i64, depth = 64 : i64, down = 4 : i64, across = 1 : i64, stages = 2 : i64}} do {
// CHECK: cta.view %k : memref<3x128x64xbf16> to !cta.view<bf16, ((4,3),64,128):((0,8192),1,64)>
// CHECK: %[[Q:.*]] = cta.load %{{.*}} to tensor<64x64xbf16>
// CHECK: affine.for %{{.*}} = 0 to 128 step 64 iter_args(%[[ACC:.*]] = %{{.*}}, %[[TOP:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<64x64xf32>, tensor<64x1xf32>, tensor<64x1xf32>)
// CHECK: cta.dot %[[Q]]
// CHECK-NOT: cta.numbers
// CHECK: cta.reduce %{{.*}} {kind = "maximumf"}
// CHECK: math.exp2
// CHECK: %[[FACTOR:.*]] = cta.map %[[TOP]]
// CHECK-NEXT: ^bb0
// CHECK: math.exp2
// CHECK: cta.reduce %{{.*}} {kind = "add"}
// CHECK: cta.map %[[SUM]], %[[FACTOR]]
// CHECK: %[[SCALED:.*]] = cta.map %[[ACC]], %[[FACTOR]]
// CHECK: arith.truncf
// CHECK: cta.dot %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK: affine.yield
// CHECK: arith.divf
// CHECK: cta.store
func.func private @plain(%q: memref<3x4x512x64xbf16>, %k: memref<3x128x64xbf16>, %v: memref<3x128x64xbf16>, %o: memref<3x4x512x64xf32>) attributes {lamina.kernel = "attention"} {
  "linalg_ext.attention"(%q, %k, %v, %o) <{indexing_maps = [
      affine_map<(g, h, m, d, s, n) -> (g, h, m, d)>, affine_map<(g, h, m, d, s, n) -> (g, s, d)>,
      affine_map<(g, h, m, d, s, n) -> (g, s, n)>, affine_map<(g, h, m, d, s, n) -> (g, h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (memref<3x4x512x64xbf16>, memref<3x128x64xbf16>, memref<3x128x64xbf16>, memref<3x4x512x64xf32>) -> ()
  func.return
}

// Few queries are small blocks, f32 is for threads. A causal loop ends with the keys that the block sees; a mask of
// keys is one row; keys behind the last one, and behind the query, whichever ends first, count as if they were not there.
// CHECK-LABEL: func.func private @causal
// CHECK: schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 4 : i64, across = 2 : i64, stages = 1 : i64}
// CHECK: %[[END:.*]] = affine.min affine_map<(d0) -> ((d0 + 35), 40)> (%row)
// CHECK: affine.for %{{.*}} = 0 to affine_map<(d0) -> (d0)>(%[[END]]) step 32
// CHECK: cta.dot
// CHECK: cta.load {{.*}} : !cta.view<f32, (2,40,40):(40,0,1)> to tensor<1x32xf32>
// CHECK: cta.map
// CHECK: arith.addf
// CHECK: cta.numbers %keys : tensor<1x32xi32>
// CHECK: cta.numbers %row : tensor<32x1xi32>
// CHECK: arith.constant 4 : i32
// CHECK: arith.constant 40 : i32
// CHECK: arith.minsi
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: cta.reduce
// CHECK: arith.select {{.*}} : f32
// CHECK-NOT: truncf
func.func private @causal(%q: memref<2x40x24xf32>, %k: memref<2x40x24xf32>, %v: memref<2x40x20xf32>, %x: memref<2x40xf32>, %o: memref<2x40x20xf32>) attributes {lamina.kernel = "attention"} {
  "linalg_ext.attention"(%q, %k, %v, %x, %o) <{causal = 3 : i64, indexing_maps = [
      affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>,
      affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, s)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 4, 1>}> ({
  ^bb0(%s: f32, %y: f32):
    %r = arith.addf %s, %y : f32
    "linalg_ext.yield"(%r) : (f32) -> ()
  }) : (memref<2x40x24xf32>, memref<2x40x24xf32>, memref<2x40x20xf32>, memref<2x40xf32>, memref<2x40x20xf32>) -> ()
  func.return
}
