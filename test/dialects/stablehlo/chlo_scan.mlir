// Scans and reductions to one process print as they are written; a program says what a scan gives.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s
// RUN: lamina run %s --target interpret

// CHECK-LABEL: func.func public @main(
func.func public @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  // CHECK: %sums, %sum = chlo.scan(%x) inits (%zero) dimension=1 attributes {is_reverse = true} {
  // CHECK-NEXT: ^bb0(%slice: tensor<2xi32>, %so_far: tensor<2xi32>):
  %sums, %sum = chlo.scan(%x) inits (%zero) dimension=1 attributes {is_reverse = true} {
  ^bb0(%slice: tensor<2xi32>, %so_far: tensor<2xi32>):
    %s = stablehlo.add %slice, %so_far : tensor<2xi32>
    stablehlo.return %s, %s : tensor<2xi32>, tensor<2xi32>
  // CHECK: } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %sums, dense<[[6, 5, 3], [15, 11, 6]]> : tensor<2x3xi32>
  check.expect_eq_const %sum, dense<[6, 15]> : tensor<2xi32>
  func.return
}

// CHECK-LABEL: func.func @root(
func.func @root(%x: tensor<4xf32>, %root: tensor<1xi32>) {
  // CHECK-NEXT{LITERAL}: %r = "stablehlo.collective_reduce"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  %r = "stablehlo.collective_reduce"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  func.return
}
