// CHLO becomes ops of the specification; what has a polynomial of its own further down stays.
// RUN: lamina-opt %s -p stablehlo-decompose-chlo | filecheck %s

// CHECK-LABEL: func.func @plain(
func.func @plain(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %{{.*}} = chlo.erf %x
  %e = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.tan %x : tensor<4xf32>
  %t = chlo.tan %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.multiply %x, %x : tensor<4xf32>
  %s = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  func.return %e, %t, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @wide(
func.func @wide(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
  // CHECK-NOT: chlo
  // CHECK: %y = stablehlo.convert %{{.*}} : (tensor<4xf64>) -> tensor<4xf32>
  %y = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @broadcast(
func.func @broadcast(%x: tensor<2x3xf32>, %v: tensor<3xf32>) -> tensor<2x3xi1> {
  // CHECK-NEXT: %[[W:.*]] = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: stablehlo.compare LT, %x, %[[W]], FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %y = chlo.broadcast_compare %x, %v {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  func.return %y : tensor<2x3xi1>
}

// Of numbers whose order integers of 32 bits have: above their places in 64 bits, each compared with all others.
// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<2x5xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
  // CHECK: stablehlo.bitcast_convert %x : (tensor<2x5xf32>) -> tensor<2x5xi32>
  // CHECK: stablehlo.shift_left {{.*}} : tensor<2x5xi64>
  // CHECK: stablehlo.compare LT, {{.*}} : (tensor<2x5x5xi64>, tensor<2x5x5xi64>) -> tensor<2x5x5xi1>
  // CHECK-NOT: stablehlo.sort
  // CHECK: "stablehlo.gather"(%x
  %v, %i = chlo.top_k(%x, k = 2) : tensor<2x5xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  func.return %v, %i : tensor<2x2xf32>, tensor<2x2xi32>
}

// Of many, on a processor: all in order, of which `stablehlo-sort-by-digits` takes what is asked for.
// CHECK-LABEL: func.func @top_k_of_many
func.func @top_k_of_many(%x: tensor<3x1000xi32>) -> (tensor<3x4xi32>, tensor<3x4xi32>) {
  // CHECK: "stablehlo.sort"(%x, %{{.*}}) <{dimension = 1 : i64, is_stable = true}>
  // CHECK: stablehlo.slice %{{.*}} [0:3, 0:4]
  %v, %i = chlo.top_k(%x, k = 4) : tensor<3x1000xi32> -> (tensor<3x4xi32>, tensor<3x4xi32>)
  func.return %v, %i : tensor<3x4xi32>, tensor<3x4xi32>
}

// CHECK-LABEL: func.func @top_k_of_wide_numbers
func.func @top_k_of_wide_numbers(%x: tensor<2x5xf64>) -> (tensor<2x2xf64>, tensor<2x2xi32>) {
  // CHECK: "stablehlo.sort"(%x, %{{.*}}) <{dimension = 1 : i64, is_stable = true}>
  // CHECK: stablehlo.compare GT, {{.*}}, TOTALORDER
  // CHECK: stablehlo.slice %{{.*}} [0:2, 0:2]
  %v, %i = chlo.top_k(%x, k = 2) : tensor<2x5xf64> -> (tensor<2x2xf64>, tensor<2x2xi32>)
  func.return %v, %i : tensor<2x2xf64>, tensor<2x2xi32>
}
