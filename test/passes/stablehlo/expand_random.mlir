// RUN: lamina-opt %s -p stablehlo-expand-random | filecheck %s

// Two words a block: three blocks for five words, and the counter moves on by three.
// CHECK-LABEL: func.func @threefry
func.func @threefry(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>) {
  // CHECK: stablehlo.iota dim = 0 : tensor<3xui64>
  // CHECK-COUNT-20: stablehlo.shift_left {{.*}} : tensor<3xui32>
  // CHECK-NOT: stablehlo.shift_left
  // CHECK: stablehlo.reshape {{.*}} : (tensor<3x2xui32>) -> tensor<6xui32>
  // CHECK: stablehlo.slice {{.*}} [0:5]
  // CHECK: stablehlo.constant dense<3> : tensor<ui64>
  // CHECK-NOT: rng_bit_generator
  %next, %bits = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
  func.return %next, %bits : tensor<2xui64>, tensor<5xui32>
}
