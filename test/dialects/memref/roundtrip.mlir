// RUN: lamina-opt %s | lamina-opt | filecheck %s
func.func @f(%arena: memref<400xi8>) {
  %offset = arith.constant 64 : index
  // CHECK: memref.view %arena[%offset][] : memref<400xi8> to memref<4x4xf32>
  %view = memref.view %arena[%offset][] : memref<400xi8> to memref<4x4xf32>
  // CHECK: memref.alloca() {alignment = 64 : i64} : memref<4xf32>
  %scratch = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
  // CHECK: memref.copy %scratch, %scratch : memref<4xf32> to memref<4xf32>
  memref.copy %scratch, %scratch : memref<4xf32> to memref<4xf32>
  // CHECK: memref.cast %scratch : memref<4xf32> to memref<?xf32>
  %cast = memref.cast %scratch : memref<4xf32> to memref<?xf32>
  // CHECK: memref.subview %view[0, 1] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1], offset: 1>>
  %sub = memref.subview %view[0, 1] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1], offset: 1>>
  // CHECK: memref.prefetch %view[%offset, %offset], write, locality<2>, data : memref<4x4xf32>
  memref.prefetch %view[%offset, %offset], write, locality<2>, data : memref<4x4xf32>
  // CHECK: memref.prefetch %scratch[%offset], read, locality<0>, instr : memref<4xf32>
  memref.prefetch %scratch[%offset], read, locality<0>, instr : memref<4xf32>
  // CHECK: memref.collapse_shape %view
  %flat = memref.collapse_shape %view [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  func.return
}
