// RUN: lamina-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// Two digits of four bits each are counted in one pass; by each of them the numbers are put in order.
// CHECK-LABEL: @bits
// CHECK-COUNT-2: linalg.fill {{.*}} tensor<2x16xi32>
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = tensor.extract %x
// CHECK:           arith.shrui %[[X]]
// CHECK:           tensor.extract %{{.*}} : tensor<2x16xi32>
// CHECK:           tensor.insert %{{.*}} : tensor<2x16xi32>
// CHECK:           arith.shrui %[[X]]
// CHECK:           arith.xori
// CHECK:           tensor.insert %{{.*}} : tensor<2x16xi32>
// CHECK:         linalg.generic
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:           tensor.insert %{{.*}} : tensor<2x40xi64>
// CHECK:           tensor.insert %{{.*}} : tensor<2x40xf32>
// CHECK:         linalg.generic
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @bits(%x: tensor<2x40xi64>, %y: tensor<2x40xf32>) -> (tensor<2x40xi64>, tensor<2x40xf32>) {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<f32>, %d: tensor<f32>):
    %r = stablehlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) {lamina.bits = array<i64: 32, 40>} : (tensor<2x40xi64>, tensor<2x40xf32>) -> (tensor<2x40xi64>, tensor<2x40xf32>)
  return %s#0, %s#1 : tensor<2x40xi64>, tensor<2x40xf32>
}
