// Sizes that follow from constants and other sizes become known; dynamic ops become static.
// RUN: lamina-opt %s -p stablehlo-refine-shapes | filecheck %s

// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME: -> tensor<4xf32>
func.func @broadcast(%x: tensor<4x3xf32>, %v: tensor<f32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<4x3xf32>) -> tensor<i32>
  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  // CHECK-NEXT: %y = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %y = stablehlo.dynamic_broadcast_in_dim %v, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  // CHECK-NEXT: %z = stablehlo.negate %y : tensor<4xf32>
  %z = stablehlo.negate %y : tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// CHECK-LABEL: func.func @others(
func.func @others(%x: tensor<2x3xf32>, %v: tensor<f32>, %i: tensor<5x1xi32>) -> (tensor<?xf32>, tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<5x?xf32>) {
  %six = stablehlo.constant dense<6> : tensor<1xi64>
  %two = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  %zero = stablehlo.constant dense<[0, 0]> : tensor<2xi64>
  %one = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
  // CHECK-NEXT: stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %a = stablehlo.dynamic_reshape %x, %six : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  // CHECK-NEXT: stablehlo.iota dim = 1 : tensor<2x2xi32>
  %b = stablehlo.dynamic_iota %two, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  // CHECK-NEXT: stablehlo.pad %x, %v, low = [1, 1], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x4xf32>
  %c = stablehlo.dynamic_pad %x, %v, %one, %zero, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: stablehlo.slice %x [0:2, 0:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %d = stablehlo.real_dynamic_slice %x, %zero, %two, %one : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: "stablehlo.gather"(%x, %i) <{{.*}}slice_sizes = array<i64: 1, 1>{{.*}} -> tensor<5x1xf32>
  %e = "stablehlo.dynamic_gather"(%x, %i, %one) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x?xf32>
  func.return %a, %b, %c, %d, %e : tensor<?xf32>, tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<5x?xf32>
}

// What is not known stays.
// CHECK-LABEL: func.func @unknown(
func.func @unknown(%x: tensor<2xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {
  // CHECK-NEXT: stablehlo.dynamic_reshape %x, %s
  %a = stablehlo.dynamic_reshape %x, %s : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
  func.return %a : tensor<?xf32>
}
