// CHLO's other ops print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @unary(
func.func @unary(%x: tensor<2xf32>, %z: tensor<2xcomplex<f32>>) {
  // CHECK-NEXT: %tan = chlo.tan %x : tensor<2xf32> -> tensor<2xf32>
  %tan = chlo.tan %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %square = chlo.square %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %square = chlo.square %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  // CHECK-NEXT: %conj = chlo.conj %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %conj = chlo.conj %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  // CHECK-NEXT: %i1e = chlo.bessel_i1e %x : tensor<2xf32> -> tensor<2xf32>
  %i1e = chlo.bessel_i1e %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %inf = chlo.is_inf %x : tensor<2xf32> -> tensor<2xi1>
  %inf = chlo.is_inf %x : tensor<2xf32> -> tensor<2xi1>
  // CHECK-NEXT: %positive = chlo.is_pos_inf %x : tensor<2xf32> -> tensor<2xi1>
  %positive = chlo.is_pos_inf %x : tensor<2xf32> -> tensor<2xi1>
  // CHECK-NEXT: %negative = chlo.is_neg_inf %x : tensor<2xf32> -> tensor<2xi1>
  %negative = chlo.is_neg_inf %x : tensor<2xf32> -> tensor<2xi1>
  func.return
}

// CHECK-LABEL: func.func @binary(
func.func @binary(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %i: tensor<2xi32>, %p: tensor<i1>) {
  // CHECK-NEXT: %next = chlo.next_after %v, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %next = chlo.next_after %v, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK-NEXT: %gamma = chlo.polygamma %v, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %gamma = chlo.polygamma %v, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK-NEXT: %zeta = chlo.zeta %v, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %zeta = chlo.zeta %v, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK-NEXT: %high = chlo.mulhi %i, %i : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  %high = chlo.mulhi %i, %i : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  // CHECK-NEXT: %sum = chlo.broadcast_add %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %sum = chlo.broadcast_add %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %less = chlo.broadcast_compare %x, %v {broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %less = chlo.broadcast_compare %x, %v {broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %complex = chlo.broadcast_complex %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>
  %complex = chlo.broadcast_complex %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>
  // CHECK-NEXT: %chosen = chlo.broadcast_select %p, %x, %v : (tensor<i1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %chosen = chlo.broadcast_select %p, %x, %v : (tensor<i1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @structured(
func.func @structured(%x: tensor<2x5xf32>, %a: tensor<6x3xf32>, %b: tensor<2x3x4xf32>, %g: tensor<2xi32>) {
  // CHECK-NEXT: %values, %places = chlo.top_k(%x, k = 2) : tensor<2x5xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %values, %places = chlo.top_k(%x, k = 2) : tensor<2x5xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  // CHECK-NEXT: %ragged = "chlo.ragged_dot"(%a, %b, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<6x4xf32>
  %ragged = "chlo.ragged_dot"(%a, %b, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<6x4xf32>
  // CHECK-NEXT: %constant = chlo.constant dense<1.000000e+00> : tensor<2xf32>
  %constant = chlo.constant dense<1.000000e+00> : tensor<2xf32>
  // CHECK-NEXT: %like = "chlo.constant_like"(%x) <{value = 1.000000e+00 : f32}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %like = "chlo.constant_like"(%x) <{value = 1.000000e+00 : f32}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return
}
