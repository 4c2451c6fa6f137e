// RUN: lamina-opt %s -p affine-vectorize | filecheck %s
// RUN: lamina-opt %s -p affine-vectorize,convert-affine-to-scf,convert-scf-to-cf,convert-to-llvm | filecheck %s --check-prefix LLVM

// Rows of 1 KB are copied by loops, which LLVM is not to make calls of memcpy.
// CHECK: func.func @short(
// CHECK-SAME: attributes {llvm.no_memcpy}
// CHECK: affine.vector_load
// LLVM: llvm.func @short(
// LLVM-SAME: llvm.no_memcpy
func.func @short(%x: memref<64x256xf32>, %y: memref<64x512xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%i, %j] : memref<64x256xf32>
      affine.store %a, %y[%i, %j] : memref<64x512xf32>
    }
  }
  func.return
}

// Where there is a long one, too, LLVM has its way.
// CHECK: func.func @long(
// CHECK-NOT: llvm.no_memcpy
// CHECK: affine.vector_load
func.func @long(%x: memref<64x256xf32>, %z: memref<64x4096xf32>, %y: memref<64x8192xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%i, %j] : memref<64x256xf32>
      affine.store %a, %y[%i, %j] : memref<64x8192xf32>
    }
    affine.for %k = 0 to 4096 {
      %b = affine.load %z[%i, %k] : memref<64x4096xf32>
      affine.store %b, %y[%i, %k + 256] : memref<64x8192xf32>
    }
  }
  func.return
}

// What computes is no copy, and LLVM has no call for it.
// CHECK: func.func @computes(
// CHECK-NOT: llvm.no_memcpy
// CHECK: affine.vector_load
func.func @computes(%x: memref<64x256xf32>, %y: memref<64x512xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%i, %j] : memref<64x256xf32>
      %b = arith.addf %a, %a : f32
      affine.store %b, %y[%i, %j] : memref<64x512xf32>
    }
  }
  func.return
}
