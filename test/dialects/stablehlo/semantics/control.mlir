// RUN: lamina run %s --target interpret

func.func public @main() {
  // The sum of 0..9 by a loop that uses a value from outside.
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %ten = stablehlo.constant dense<10> : tensor<i64>
  %loop:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i64>, tensor<i64>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %s = stablehlo.add %sum, %i : tensor<i64>
      %n = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %n, %s : tensor<i64>, tensor<i64>
    }
  check.expect_eq_const %loop#1, dense<45> : tensor<i64>

  // An index out of range takes the last branch.
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %case = "stablehlo.case"(%seven) ({
    stablehlo.return %zero : tensor<i64>
  }, {
    stablehlo.return %ten : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %case, dense<10> : tensor<i64>

  %x = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %composite = stablehlo.composite "test.root" %x {decomposition = @root} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_close %composite, %composite, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  check.expect_eq_const %composite, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

func.func private @root(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sqrt %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
