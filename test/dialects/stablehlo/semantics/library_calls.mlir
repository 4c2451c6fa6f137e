// RUN: lamina run %s --target interpret --quiet
// A solve and a factor as JAX writes them for processors.
func.func public @main() {
  %a = stablehlo.constant dense<[[4.0, 9.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[8.0], [14.0]]> : tensor<2x1xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4}, custom>} : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %right = stablehlo.constant dense<[[2.0], [2.0]]> : tensor<2x1xf32>
  stablehlo.custom_call @check.expect_almost_eq(%x, %right) {has_side_effect = true} : (tensor<2x1xf32>, tensor<2x1xf32>) -> ()
  %f:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  %factor = stablehlo.constant dense<[[2.0, 9.0], [1.0, 2.0]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%f#0, %factor) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  %lu:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi32>, tensor<i32>)
  %both = stablehlo.constant dense<[[4.0, 9.0], [0.5, 0.5]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%lu#0, %both) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  return
}
