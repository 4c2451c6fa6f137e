// Ops whose shapes are values print as they are written; sizes that are not known are checked when they are.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @shapes(
func.func @shapes(%x: tensor<2x3xf32>, %d: tensor<?x3xf32>, %v: tensor<f32>, %one: tensor<1xi64>, %two: tensor<2xi64>) {
  // CHECK-NEXT: %reshaped = stablehlo.dynamic_reshape %x, %one : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  %reshaped = stablehlo.dynamic_reshape %x, %one : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  // CHECK-NEXT: %wide = stablehlo.dynamic_broadcast_in_dim %reshaped, %two, dims = [1] : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %wide = stablehlo.dynamic_broadcast_in_dim %reshaped, %two, dims = [1] : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %known = stablehlo.dynamic_broadcast_in_dim %x, %two, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %known = stablehlo.dynamic_broadcast_in_dim %x, %two, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  // CHECK-NEXT: %count = stablehlo.dynamic_iota %two, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  %count = stablehlo.dynamic_iota %two, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  // CHECK-NEXT: %padded = stablehlo.dynamic_pad %d, %v, %two, %two, %two : (tensor<?x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %padded = stablehlo.dynamic_pad %d, %v, %two, %two, %two : (tensor<?x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %part = stablehlo.real_dynamic_slice %d, %two, %two, %two : (tensor<?x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %part = stablehlo.real_dynamic_slice %d, %two, %two, %two : (tensor<?x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %size = stablehlo.get_dimension_size %d, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %size = stablehlo.get_dimension_size %d, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  // CHECK-NEXT: %bounded = stablehlo.set_dimension_size %x, %size, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
  %bounded = stablehlo.set_dimension_size %x, %size, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
  // CHECK-NEXT: %sum = stablehlo.add %d, %d : tensor<?x3xf32>
  %sum = stablehlo.add %d, %d : tensor<?x3xf32>
  func.return
}

// CHECK-LABEL: func.func @indexed(
func.func @indexed(%x: tensor<3x4xf32>, %i: tensor<5x2xi32>, %sizes: tensor<2xi32>, %c: tensor<1x4x4x1xf32>, %k: tensor<3x3x1x1xf32>, %p: tensor<2x2xi64>) {
  // CHECK-NEXT: %gathered = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<3x4xf32>, tensor<5x2xi32>, tensor<2xi32>) -> tensor<5x?x?xf32>
  %gathered = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<3x4xf32>, tensor<5x2xi32>, tensor<2xi32>) -> tensor<5x?x?xf32>
  // CHECK-NEXT: %convolved = "stablehlo.dynamic_conv"(%c, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>, tensor<2x2xi64>) -> tensor<1x?x?x1xf32>
  %convolved = "stablehlo.dynamic_conv"(%c, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>, tensor<2x2xi64>) -> tensor<1x?x?x1xf32>
  func.return
}
