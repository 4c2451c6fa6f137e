// RUN: lamina-opt %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func {{.*}}@product
func.func @product(%a: memref<4096xbf16>, %c: memref<16x16xf32>, %i: index) {
  %stride = arith.constant 64 : index
  // CHECK: llvm.call_intrinsic "llvm.x86.tilezero.internal"({{.*}}) : (i16, i16) -> !llvm.x86_amx
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  // CHECK: %[[SIZE:.*]] = llvm.mlir.constant(2) : i64
  // CHECK-NEXT: %[[P:.*]] = llvm.getelementptr
  // CHECK-NEXT: %[[BYTES:.*]] = llvm.mul %{{.*}}, %[[SIZE]] : i64
  // CHECK: %[[A:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"({{.*}}, %[[P]], %[[BYTES]]) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t = amx.tile_load %a[%i], %stride : memref<4096xbf16> into !amx.tile<16x32xbf16>
  // CHECK: %[[D:.*]] = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"({{.*}}, %[[A]], %[[A]]) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
  %d = amx.tile_mulf %t, %t, %z : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  // CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"({{.*}}, %[[D]]) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  amx.tile_store %c[%i, %i], %d : memref<16x16xf32>, !amx.tile<16x16xf32>
  func.return
}
