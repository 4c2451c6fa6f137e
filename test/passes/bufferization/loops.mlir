// A loop that inserts into a tensor changes the destination in place, one element at a time.
// RUN: lamina-opt %s -p bufferize | filecheck %s

// CHECK-LABEL: func.func private @kernel
// CHECK-SAME: (%x: memref<4xf32>, %dst: memref<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%x : memref<4xf32>) outs(%dst : memref<4xf32>)
// CHECK: scf.for %i =
// CHECK-NEXT: %[[V:.*]] = memref.load %dst[%i]
// CHECK-NEXT: %[[W:.*]] = arith.addf %[[V]], %[[V]] : f32
// CHECK-NEXT: memref.store %[[W]], %dst[%i]
// CHECK: func.return
func.func private @kernel(%x: tensor<4xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %r = scf.for %i = %zero to %four step %one iter_args(%t = %x) -> (tensor<4xf32>) {
    %v = tensor.extract %t[%i] : tensor<4xf32>
    %w = arith.addf %v, %v : f32
    %n = tensor.insert %w into %t[%i] : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %dst = tensor.empty() : tensor<4xf32>
  %y = func.call @kernel(%x, %dst) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
