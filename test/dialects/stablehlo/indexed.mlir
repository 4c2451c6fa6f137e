// Data movement with computed indices prints as it is written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @indexed(
func.func @indexed(%x: tensor<3x4xf32>, %i: tensor<i64>, %indices: tensor<5x1xi32>, %rows: tensor<5x4xf32>, %u: tensor<1x4xf32>) {
  // CHECK-NEXT: %slice = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
  %slice = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
  // CHECK-NEXT: %update = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x4xf32>
  %update = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x4xf32>
  // CHECK-NEXT: %gather = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<3x4xf32>, tensor<5x1xi32>) -> tensor<5x4xf32>
  %gather = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<3x4xf32>, tensor<5x1xi32>) -> tensor<5x4xf32>
  // CHECK-NEXT: %scatter = "stablehlo.scatter"(%x, %indices, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  %scatter = "stablehlo.scatter"(%x, %indices, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  // CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK-NEXT: %sum = stablehlo.add %a, %b : tensor<f32>
    %sum = stablehlo.add %a, %b : tensor<f32>
    // CHECK-NEXT: stablehlo.return %sum : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  // CHECK-NEXT: }) : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  }) : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @batched(
func.func @batched(%x: tensor<2x3x4xf32>, %indices: tensor<2x5x1xi64>) {
  // CHECK-NEXT: %gather = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>, indices_are_sorted = true}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
  %gather = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>, indices_are_sorted = true}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
  func.return
}
