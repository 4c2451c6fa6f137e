// Ops whose bodies compute with quantised numbers, and ops that move these.
// RUN: lamina-opt %s -p stablehlo-legalize-quant-to-math | filecheck %s
// CHECK-NOT: quant

!q = !quant.uniform<i8:f32, 0.25:7>

func.func @main(%a: tensor<4x6x!q>, %b: tensor<4x6x!q>, %u: tensor<2x3x!q>, %at: tensor<3xi32>, %n: tensor<i32>) -> (tensor<4x!q>, tensor<2x3x!q>, tensor<4x6x!q>, tensor<4x6x!q>,
    tensor<4x6x!q>, tensor<8x7x!q>, tensor<8x6x!q>, tensor<3x6x!q>, tensor<4x6x!q>, tensor<4x6x!q>) {
  %zero = stablehlo.constant() <{value = dense<7> : tensor<i8>}> : () -> tensor<!q>
  %few = stablehlo.sign %a : tensor<4x6x!q>
  %0 = stablehlo.reduce(%few init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x6x!q>, tensor<!q>) -> tensor<4x!q>
  %1 = "stablehlo.reduce_window"(%a, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.maximum %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
  }) : (tensor<4x6x!q>, tensor<!q>) -> tensor<2x3x!q>
  %2 = "stablehlo.select_and_scatter"(%a, %u, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.compare GE, %x, %y : (tensor<!q>, tensor<!q>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.add %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
  }) : (tensor<4x6x!q>, tensor<2x3x!q>, tensor<!q>) -> tensor<4x6x!q>
  %3 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.compare GT, %x, %y : (tensor<!q>, tensor<!q>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6x!q>) -> tensor<4x6x!q>
  %4 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.multiply %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
  }) : (tensor<4x6x!q>, tensor<4x6x!q>) -> tensor<4x6x!q>
  %5 = stablehlo.pad %a, %zero, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<4x6x!q>, tensor<!q>) -> tensor<8x7x!q>
  %6 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4x6x!q>, tensor<4x6x!q>) -> tensor<8x6x!q>
  %7 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6x!q>, tensor<3xi32>) -> tensor<3x6x!q>
  %8:2 = stablehlo.while(%i = %n, %s = %a) : tensor<i32>, tensor<4x6x!q>
    cond {
      %none = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %none : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %less = stablehlo.subtract %i, %one : tensor<i32>
      %half = stablehlo.logistic %s : tensor<4x6x!q>
      stablehlo.return %less, %half : tensor<i32>, tensor<4x6x!q>
    }
  %9 = stablehlo.iota dim = 1 : tensor<4x6x!q>
  func.return %0, %1, %2, %3, %4, %5, %6, %7, %8#1, %9 : tensor<4x!q>, tensor<2x3x!q>, tensor<4x6x!q>, tensor<4x6x!q>,
    tensor<4x6x!q>, tensor<8x7x!q>, tensor<8x6x!q>, tensor<3x6x!q>, tensor<4x6x!q>, tensor<4x6x!q>
}
