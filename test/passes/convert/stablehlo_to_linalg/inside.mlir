// RUN: lamina-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// Start indices are clamped, but for those that are known to be inside: a look-up in a table of places, and a step of 0 or
// 1 further, stays in a table of one more.

builtin.module {
  // CHECK-LABEL: @steps
  // CHECK-NOT: arith.maxsi
  // CHECK-NOT: arith.minsi
  // CHECK: func.return
  func.func @steps(%x: tensor<6xi1>) -> tensor<6xf32> {
    %words = stablehlo.constant dense<[40, 0, 30, 10]> : tensor<4xi32>
    %values = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<7xf32>
    %start = stablehlo.constant dense<[0, 1, 2, 3, 2, 1]> : tensor<6xi32>
    %word = "stablehlo.gather"(%words, %start) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xi32>, tensor<6xi32>) -> tensor<6xi32>
    %three = stablehlo.constant dense<3> : tensor<6xi32>
    %first = stablehlo.shift_right_logical %word, %three : tensor<6xi32>
    %step = stablehlo.convert %x : (tensor<6xi1>) -> tensor<6xi32>
    %next = stablehlo.add %first, %step : tensor<6xi32>
    %y = "stablehlo.gather"(%values, %next) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<7xf32>, tensor<6xi32>) -> tensor<6xf32>
    func.return %y : tensor<6xf32>
  }

  // CHECK-LABEL: @masked
  // CHECK-NOT: arith.maxsi
  // CHECK-NOT: arith.minsi
  // CHECK: func.return
  func.func @masked(%x: tensor<8xf32>, %i: tensor<6xi32>) -> tensor<6xf32> {
    %seven = stablehlo.constant dense<7> : tensor<6xi32>
    %at = stablehlo.and %i, %seven : tensor<6xi32>
    %y = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<8xf32>, tensor<6xi32>) -> tensor<6xf32>
    func.return %y : tensor<6xf32>
  }

  // CHECK-LABEL: @one_too_few
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  func.func @one_too_few(%x: tensor<7xf32>, %i: tensor<6xi32>) -> tensor<6xf32> {
    %seven = stablehlo.constant dense<7> : tensor<6xi32>
    %at = stablehlo.and %i, %seven : tensor<6xi32>
    %y = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<7xf32>, tensor<6xi32>) -> tensor<6xf32>
    func.return %y : tensor<6xf32>
  }

  // Bytes without a sign become others where they are narrowed, below zero.
  // CHECK-LABEL: @wraps
  // CHECK: arith.maxsi
  func.func @wraps(%x: tensor<300xf32>, %i: tensor<6xui8>) -> tensor<6xf32> {
    %wide = stablehlo.convert %i : (tensor<6xui8>) -> tensor<6xi32>
    %narrow = stablehlo.convert %wide : (tensor<6xi32>) -> tensor<6xi8>
    %at = stablehlo.convert %narrow : (tensor<6xi8>) -> tensor<6xi32>
    %y = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<300xf32>, tensor<6xi32>) -> tensor<6xf32>
    func.return %y : tensor<6xf32>
  }
}
