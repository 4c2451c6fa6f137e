// RUN: lamina-opt %s -p dce | filecheck %s

// CHECK-LABEL: func.func @dead
// CHECK-NEXT: memref.store
// CHECK-NEXT: func.call
// CHECK-NEXT: return %a
func.func @dead(%a: i32, %m: memref<4xi32>, %i: index, %t: tensor<4xf32>) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.extsi %0 : i32 to i64
  %2 = memref.load %m[%i] : memref<4xi32>
  %3 = memref.alloc() : memref<4xi32>
  memref.store %a, %m[%i] : memref<4xi32>
  %z = arith.constant 0.0 : f32
  %4 = linalg.fill ins(%z : f32) outs(%t : tensor<4xf32>) -> tensor<4xf32>
  func.call @effect() : () -> ()
  %5 = arith.constant true
  scf.if %5 {
    %6 = arith.addi %a, %a : i32
  }
  return %a : i32
}
func.func private @effect()
