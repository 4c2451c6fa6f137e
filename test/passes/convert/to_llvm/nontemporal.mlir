// RUN: lamina-opt %s -p convert-to-llvm | filecheck %s

// A vector that passes the caches by, and a fence before the function returns.
// CHECK-LABEL: llvm.func{{.*}}@streams
// CHECK: llvm.store %{{.*}} {alignment = 32 : i64, nontemporal} : vector<8xf32>, !llvm.ptr
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"
// CHECK-NEXT: llvm.return
func.func @streams(%v: vector<8xf32>, %m: memref<64xf32>) {
  %c8 = arith.constant 8 : index
  vector.store %v, %m[%c8] {alignment = 32 : i64, nontemporal = true} : memref<64xf32>, vector<8xf32>
  func.return
}

// CHECK-LABEL: llvm.func{{.*}}@stores
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
// CHECK-NOT: sfence
func.func @stores(%v: vector<8xf32>, %m: memref<64xf32>) {
  %c8 = arith.constant 8 : index
  vector.store %v, %m[%c8] : memref<64xf32>, vector<8xf32>
  func.return
}
