// RUN: lamina-opt %s --machine x86-64-avx512 -p 'affine-pipeline-rows' | filecheck %s

// What the second loop writes for the third is a row of its own; only the third writes the array. The first two rows'
// first stages come before the loop over rows; all reads of an iteration stand before its writes.
// CHECK-LABEL: func.func @softmax
// CHECK: affine.parallel (%[[C:.*]]) = (0) to (2) {
// CHECK-NEXT: %[[OWN:.*]] = memref.alloca() {alignment = 4096 : i64} : memref<256xf32>
// CHECK-NEXT: %[[FIRST:.*]] = affine.apply affine_map<(d0) -> ((d0 * 32))> (%[[C]])
// CHECK: %[[M0:.*]] = affine.for
// CHECK: affine.load %x[%[[FIRST]],
// CHECK: %[[S0:.*]] = affine.for
// CHECK: math.exp
// CHECK-NEXT: affine.store %{{.*}}, %[[OWN]][%{{.*}}] : memref<256xf32>
// CHECK: %[[I0:.*]] = arith.divf %one, %[[S0]]
// CHECK: %[[SECOND:.*]] = affine.apply affine_map<(d0) -> (((d0 * 32) + 1))> (%[[C]])
// CHECK: %[[M1:.*]] = affine.for
// CHECK: affine.load %x[%[[SECOND]],
// CHECK: affine.for %[[I:.*]] = 0 to 32 iter_args(%[[M:.*]] = %[[M1]], %[[N:.*]] = %[[I0]]) -> (f32, f32) {
// CHECK-NEXT: %[[LAST:.*]] = affine.min affine_map<(d0, d1) -> ((((d0 * 32) + d1) + 2), ((d0 * 32) + 31))> (%[[C]], %[[I]])
// CHECK-NEXT: %[[NEXT:.*]] = affine.min affine_map<(d0, d1) -> ((((d0 * 32) + d1) + 1), ((d0 * 32) + 31))> (%[[C]], %[[I]])
// CHECK-NEXT: %[[SUM:.*]], %[[HIGH:.*]] = affine.for %[[J:.*]] = 0 to 256
// CHECK-NEXT: %[[A:.*]] = affine.load %[[OWN]][%[[J]]]
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[A]], %[[N]]
// CHECK-NEXT: %[[B:.*]] = affine.load %x[%[[NEXT]], %[[J]]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[B]], %[[M]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: affine.load %x[%[[LAST]], %[[J]]]
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: affine.store %[[Y]], %y[%[[C]] * 32 + %[[I]], %[[J]]]
// CHECK-NEXT: affine.store %[[E]], %[[OWN]][%[[J]]]
// CHECK-NEXT: affine.yield
// CHECK: %[[INVERSE:.*]] = arith.divf %one, %[[SUM]]
// CHECK-NEXT: affine.yield %[[HIGH]], %[[INVERSE]]
func.func @softmax(%x: memref<64x256xf32>, %y: memref<64x256xf32>, %one: f32, %low: f32, %zero: f32) {
  affine.parallel (%r) = (0) to (64) {
    %m = affine.for %j = 0 to 256 iter_args(%c = %low) -> (f32) {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      %b = arith.maximumf %c, %a : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 256 iter_args(%c = %zero) -> (f32) {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      affine.store %e, %y[%r, %j] : memref<64x256xf32>
      %b = arith.addf %c, %e : f32
      affine.yield %b : f32
    }
    %i = arith.divf %one, %s : f32
    affine.for %j = 0 to 256 {
      %a = affine.load %y[%r, %j] : memref<64x256xf32>
      %b = arith.mulf %a, %i : f32
      affine.store %b, %y[%r, %j] : memref<64x256xf32>
    }
  }
  func.return
}

// The mean is needed one and two rows after it was computed. 101 rows are three chunks of 26
// and one of 23.
// CHECK-LABEL: func.func @norm
// CHECK: affine.parallel (%[[C:.*]]) = (0) to (4) {
// CHECK-NOT: memref.alloca
// CHECK: affine.for %[[I:.*]] = 0 to min affine_map<(d0) -> (26, ((d0 * -26) + 101))>(%[[C]])
// CHECK-SAME: iter_args(%[[NEW:.*]] = %{{.*}}, %[[OLD:.*]] = %{{.*}}, %[[ROOT:.*]] = %{{.*}}) -> (f32, f32, f32)
// CHECK: affine.min affine_map<(d0, d1) -> ((((d0 * 26) + d1) + 2), ((d0 * 26) + 25), 100)>
// CHECK: arith.subf %{{.*}}, %[[OLD]]
// CHECK: arith.divf %{{.*}}, %[[ROOT]]
// CHECK: arith.subf %{{.*}}, %[[NEW]]
// CHECK: affine.yield %{{.*}}, %[[NEW]], %{{.*}} : f32, f32, f32
func.func @norm(%x: memref<101x48xf32>, %y: memref<101x48xf32>, %n: f32, %zero: f32) {
  affine.parallel (%r) = (0) to (101) {
    %s = affine.for %j = 0 to 48 iter_args(%c = %zero) -> (f32) {
      %a = affine.load %x[%r, %j] : memref<101x48xf32>
      %b = arith.addf %c, %a : f32
      affine.yield %b : f32
    }
    %m = arith.divf %s, %n : f32
    %v = affine.for %j = 0 to 48 iter_args(%c = %zero) -> (f32) {
      %a = affine.load %x[%r, %j] : memref<101x48xf32>
      %d = arith.subf %a, %m : f32
      %e = arith.mulf %d, %d : f32
      %b = arith.addf %c, %e : f32
      affine.yield %b : f32
    }
    %w = math.sqrt %v : f32
    affine.for %j = 0 to 48 {
      %a = affine.load %x[%r, %j] : memref<101x48xf32>
      %d = arith.subf %a, %m : f32
      %e = arith.divf %d, %w : f32
      affine.store %e, %y[%r, %j] : memref<101x48xf32>
    }
  }
  func.return
}
