// MLIR's own syntax, read and printed the same; `symbol(%n)` is a symbol, every other name a dimension.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
#set = affine_set<(d0)[s0] : (d0 - 1 >= 0, s0 - d0 - 1 == 0)>
func.func @f(%m: memref<10x10xf32>, %n: index) {
  // CHECK: affine.parallel (%i, %j) = (0, %n) to (10, min(%n, 20)) step (1, 2) {
  affine.parallel (%i, %j) = (0, %n) to (10, min(%n, 20)) step (1, 2) {
    // CHECK-NEXT: affine.max affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n]
    %a = affine.max affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n]
    // CHECK-NEXT: affine.if affine_set<(d0)[s0] : {{.*}}>(%i)[%n] {
    affine.if #set(%i)[%n] {
      // CHECK-NEXT: affine.load %m[%i + symbol(%n), %j floordiv 2] : memref<10x10xf32>
      %v = affine.load %m[%i + symbol(%n), %j floordiv 2] : memref<10x10xf32>
      // CHECK-NEXT: affine.store %{{.*}}, %m[%i, %j] : memref<10x10xf32>
      affine.store %v, %m[%i, %j] : memref<10x10xf32>
    } else {
    }
  }
  // CHECK: affine.parallel (%{{.*}}) = (0) to (10) reduce ("addf") -> (f32) {
  %r = affine.parallel (%i) = (0) to (10) reduce ("addf") -> f32 {
    %c = arith.constant 1.0 : f32
    // CHECK: affine.yield %{{.*}} : f32
    affine.yield %c : f32
  }
  // CHECK: affine.if {{.*}} -> (f32) {
  %z = affine.if #set(%n)[%n] -> f32 {
    affine.yield %r : f32
  } else {
    affine.yield %r : f32
  }
  func.return
}
