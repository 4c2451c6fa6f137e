// %a and %c are never alive together: they share the beginning of the arena. A view keeps its buffer alive.
// RUN: lamina-opt %s -p plan-arena | filecheck %s
// CHECK: lamina.arena_bytes = 192 : i64, lamina.arena_lower_bound = 192 : i64
// CHECK: func.func public @main(%x: memref<25xf32>, %y: memref<25xf32>, %arena: memref<192xi8>, %constants: memref<0xi8>)
func.func public @main(%x: memref<25xf32>, %y: memref<25xf32>, %constants: memref<0xi8>) {
  // CHECK: %[[O0:.*]] = arith.constant 0 : index
  // CHECK-NEXT: %a = memref.view %arena[%[[O0]]][] : memref<192xi8> to memref<25xf32>
  %a = memref.alloc() {alignment = 64 : i64} : memref<25xf32>
  func.call @k(%x, %a) : (memref<25xf32>, memref<25xf32>) -> ()
  // CHECK: %[[O1:.*]] = arith.constant 128 : index
  // CHECK-NEXT: %b = memref.view %arena[%[[O1]]][] : memref<192xi8> to memref<16xf32>
  %b = memref.alloc() {alignment = 64 : i64} : memref<16xf32>
  %view = memref.expand_shape %b [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  func.call @l(%a, %b) : (memref<25xf32>, memref<16xf32>) -> ()
  // CHECK: %[[O2:.*]] = arith.constant 0 : index
  // CHECK-NEXT: %c = memref.view %arena[%[[O2]]][] : memref<192xi8> to memref<25xf32>
  %c = memref.alloc() {alignment = 64 : i64} : memref<25xf32>
  func.call @m(%view, %c) : (memref<4x4xf32>, memref<25xf32>) -> ()
  func.call @k(%c, %y) : (memref<25xf32>, memref<25xf32>) -> ()
  func.return
}
func.func private @k(memref<25xf32>, memref<25xf32>)
func.func private @l(memref<25xf32>, memref<16xf32>)
func.func private @m(memref<4x4xf32>, memref<25xf32>)
