// RUN: lamina-opt %s -p convert-to-llvm | filecheck %s

// A buffer is a bare pointer; what a kernel may assume of it is on the argument.
// CHECK: llvm.func @kernel(%m: !llvm.ptr {llvm.noalias, llvm.nonnull, llvm.noundef, llvm.align = 4 : i64, llvm.dereferenceable = 512 : i64}
func.func public @kernel(%m: memref<8x16xf32>, %b: memref<8xi1>, %i: index, %j: index) attributes {lamina.kernel = "loops"} {
  // CHECK: %[[P:.*]] = llvm.getelementptr inbounds %m[%i, %j] : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<16 x f32>
  // CHECK: %x = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
  %x = memref.load %m[%i, %j] : memref<8x16xf32>
  // A bool is a byte in memory.
  // CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
  // CHECK: %flag = llvm.icmp "ne" %[[BYTE]], %{{.*}} : i8
  %flag = memref.load %b[%i] : memref<8xi1>
  // CHECK: %[[WIDE:.*]] = llvm.zext %flag : i1 to i8
  // CHECK: llvm.store %[[WIDE]], %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr
  memref.store %flag, %b[%j] : memref<8xi1>
  func.return
}

// CHECK-LABEL: llvm.func @views
func.func public @views(%bytes: memref<1024xi8>, %n: memref<8x16xf32>, %k: index) {
  %offset = arith.constant 64 : index
  // CHECK: llvm.getelementptr inbounds %bytes[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %v = memref.view %bytes[%offset][] : memref<1024xi8> to memref<4x4xf32>
  %flat = memref.collapse_shape %n [[0, 1]] : memref<8x16xf32> into memref<128xf32>
  // CHECK: llvm.getelementptr inbounds %n[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = memref.load %flat[%k] : memref<128xf32>
  // CHECK: %[[LINE:.*]] = llvm.getelementptr %n[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: "llvm.intr.prefetch"(%[[LINE]]) <{rw = 0 : i32, hint = 3 : i32, cache = 1 : i32}> : (!llvm.ptr) -> ()
  memref.prefetch %flat[%k], read, locality<3>, data : memref<128xf32>
  // 2 * 16 + 4 elements on; accesses step over whole rows.
  %s = memref.subview %n[2, 4] [4, 8] [1, 1] : memref<8x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 36>>
  // CHECK: llvm.mul %k, %{{.*}} : i64
  %y = memref.load %s[%k, %k] : memref<4x8xf32, strided<[16, 1], offset: 36>>
  func.return
}

// Stack space is taken at the entry, once, also from inside a loop.
// CHECK-LABEL: llvm.func @stack
func.func public @stack(%c: i1) {
  // CHECK-NEXT: %[[ONE:.*]] = llvm.mlir.constant(1) : i64
  // CHECK-NEXT: llvm.alloca %[[ONE]] x !llvm.array<32 x f32> {alignment = 64 : i64}
  cf.br ^loop
^loop:
  %a = memref.alloca() : memref<4x8xf32>
  cf.cond_br %c, ^loop, ^end
^end:
  func.return
}
