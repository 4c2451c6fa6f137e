// RUN: lamina-opt %s -p affine-vectorize | filecheck %s
// CHECK-NOT: vector
// CHECK: func.func @recurrence
func.func @recurrence(%x: memref<64xf32>) {
  affine.for %j = 0 to 63 {
    %a = affine.load %x[%j] : memref<64xf32>
    affine.store %a, %x[%j + 1] : memref<64xf32>
  }
  func.return
}
func.func @strided_copy(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  affine.for %j = 0 to 64 {
    %a = affine.load %x[%j, 0] : memref<64x64xf32>
    affine.store %a, %y[%j] : memref<64xf32>
  }
  func.return
}
func.func @running_maximum(%x: memref<64xf32>, %y: memref<64xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %m = affine.for %j = 0 to 64 iter_args(%p = %low) -> (f32) {
    %a = affine.load %x[%j] : memref<64xf32>
    %n = arith.maximumf %p, %a : f32
    affine.store %n, %y[%j] : memref<64xf32>
    affine.yield %n : f32
  }
  func.return
}
func.func @division(%x: memref<64xi32>, %y: memref<64xi32>) {
  affine.for %j = 0 to 64 {
    %a = affine.load %x[%j] : memref<64xi32>
    %b = arith.divsi %a, %a : i32
    affine.store %b, %y[%j] : memref<64xi32>
  }
  func.return
}
