// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s

// A kernel that changes a part of a value is given the value as the destination; loops around kernels are the caller's,
// loops that go element by element are kernels.
// CHECK-LABEL: func.func public @main
// CHECK: scf.for {{.*}} iter_args(%[[Y:.*]] = %y) -> (tensor<5x4xf32>) {
// CHECK-NOT: tensor.empty
// CHECK: %[[CHANGED:.*]] = func.call @kernel_0(%u, %n, %[[Y]]) :
// CHECK: %[[SUM:.*]] = func.call @kernel_1(%u, %[[CHANGED]]) :
// CHECK: scf.yield %[[SUM]]
// CHECK: func.func private @kernel_0(%u: tensor<1x4xf32>, %n: tensor<index>, %[[DST:.*]]: tensor<5x4xf32>)
// CHECK: tensor.insert_slice %u into %[[DST]][%{{.*}}, 0] [1, 4] [1, 1]
// CHECK: func.func private @kernel_1(%u: tensor<1x4xf32>, %[[DST:.*]]: tensor<5x4xf32>)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[DST]])
func.func public @main(%y: tensor<5x4xf32>, %u: tensor<1x4xf32>, %n: tensor<index>) -> tensor<5x4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %r = scf.for %i = %zero to %four step %one iter_args(%s = %y) -> (tensor<5x4xf32>) {
    %at = tensor.extract %n[] : tensor<index>
    %t = tensor.insert_slice %u into %s[%at, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<5x4xf32>
    %first = arith.constant 0 : index
    %step = arith.constant 1 : index
    %last = arith.constant 4 : index
    %v = scf.for %j = %first to %last step %step iter_args(%w = %t) -> (tensor<5x4xf32>) {
      %e = tensor.extract %u[%first, %j] : tensor<1x4xf32>
      %o = tensor.insert %e into %w[%first, %j] : tensor<5x4xf32>
      scf.yield %o : tensor<5x4xf32>
    }
    scf.yield %v : tensor<5x4xf32>
  }
  func.return %r : tensor<5x4xf32>
}
