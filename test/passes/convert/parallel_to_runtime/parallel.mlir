// RUN: lamina-opt %s -p convert-parallel-to-runtime | filecheck %s

// What is captured: the buffers. Constants and views are made again inside. Two dimensions are one range.
// CHECK: func.func public @k(%a: memref<4x16xf32>, %b: memref<64xf32>, %ctx: !llvm.ptr)
func.func public @k(%a: memref<4x16xf32>, %b: memref<64xf32>) attributes {lamina.kernel = "loops"} {
  // CHECK: %[[C:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(!llvm.ptr, !llvm.ptr)>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<4x16xf32> into memref<64xf32>
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %eight = arith.constant 8 : index
  // CHECK: arith.constant 16 : index
  // CHECK: %[[TASK:.*]] = llvm.mlir.addressof @k_task0 : !llvm.ptr
  // CHECK: llvm.call @lamina_parallel_for(%ctx, %[[TASK]], %[[C]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  // CHECK-NEXT: func.return
  scf.parallel (%i, %j) = (%zero, %zero) to (%four, %eight) step (%one, %two) {
    %x = memref.load %flat[%i] : memref<64xf32>
    // Parallel inside parallel is sequential.
    // CHECK-NOT: scf.parallel
    scf.parallel (%k) = (%zero) to (%four) step (%one) {
      memref.store %x, %b[%j] : memref<64xf32>
    }
  }
  func.return
}
// CHECK: func.func private @k_body0(%[[B:.*]]: index, %[[E:.*]]: index, %[[A:.*]]: memref<4x16xf32> {llvm.noalias}, %{{.*}}: memref<64xf32> {llvm.noalias}) attributes {no_inline}
// CHECK: memref.collapse_shape %[[A]]
// CHECK: scf.for %[[I:.*]] = %[[B]] to %[[E]]
// CHECK: %[[J:.*]] = arith.remui %[[I]], %{{.*}} : index
// CHECK: arith.divui %[[I]], %{{.*}} : index
// CHECK: arith.muli %[[J]], %{{.*}} : index
// CHECK: scf.for
// CHECK: llvm.func internal @k_task0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: func.call @k_body0
// CHECK: llvm.func @lamina_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)

