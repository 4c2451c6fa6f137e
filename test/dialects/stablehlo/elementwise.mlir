// Element-wise ops print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @unary(
func.func @unary(%x: tensor<2xf32>, %i: tensor<2xi32>, %z: tensor<2xcomplex<f32>>, %p: tensor<2xi1>) {
  // CHECK-NEXT: %abs = stablehlo.abs %x : tensor<2xf32>
  %abs = stablehlo.abs %x : tensor<2xf32>
  // CHECK-NEXT: %cbrt = stablehlo.cbrt %x : tensor<2xf32>
  %cbrt = stablehlo.cbrt %x : tensor<2xf32>
  // CHECK-NEXT: %ceil = stablehlo.ceil %x : tensor<2xf32>
  %ceil = stablehlo.ceil %x : tensor<2xf32>
  // CHECK-NEXT: %cosine = stablehlo.cosine %x : tensor<2xf32>
  %cosine = stablehlo.cosine %x : tensor<2xf32>
  // CHECK-NEXT: %exponential = stablehlo.exponential %x : tensor<2xf32>
  %exponential = stablehlo.exponential %x : tensor<2xf32>
  // CHECK-NEXT: %exponential_minus_one = stablehlo.exponential_minus_one %x : tensor<2xf32>
  %exponential_minus_one = stablehlo.exponential_minus_one %x : tensor<2xf32>
  // CHECK-NEXT: %floor = stablehlo.floor %x : tensor<2xf32>
  %floor = stablehlo.floor %x : tensor<2xf32>
  // CHECK-NEXT: %log = stablehlo.log %x : tensor<2xf32>
  %log = stablehlo.log %x : tensor<2xf32>
  // CHECK-NEXT: %log_plus_one = stablehlo.log_plus_one %x : tensor<2xf32>
  %log_plus_one = stablehlo.log_plus_one %x : tensor<2xf32>
  // CHECK-NEXT: %logistic = stablehlo.logistic %x : tensor<2xf32>
  %logistic = stablehlo.logistic %x : tensor<2xf32>
  // CHECK-NEXT: %negate = stablehlo.negate %x : tensor<2xf32>
  %negate = stablehlo.negate %x : tensor<2xf32>
  // CHECK-NEXT: %round_nearest_afz = stablehlo.round_nearest_afz %x : tensor<2xf32>
  %round_nearest_afz = stablehlo.round_nearest_afz %x : tensor<2xf32>
  // CHECK-NEXT: %round_nearest_even = stablehlo.round_nearest_even %x : tensor<2xf32>
  %round_nearest_even = stablehlo.round_nearest_even %x : tensor<2xf32>
  // CHECK-NEXT: %rsqrt = stablehlo.rsqrt %x : tensor<2xf32>
  %rsqrt = stablehlo.rsqrt %x : tensor<2xf32>
  // CHECK-NEXT: %sign = stablehlo.sign %x : tensor<2xf32>
  %sign = stablehlo.sign %x : tensor<2xf32>
  // CHECK-NEXT: %sine = stablehlo.sine %x : tensor<2xf32>
  %sine = stablehlo.sine %x : tensor<2xf32>
  // CHECK-NEXT: %sqrt = stablehlo.sqrt %x : tensor<2xf32>
  %sqrt = stablehlo.sqrt %x : tensor<2xf32>
  // CHECK-NEXT: %tan = stablehlo.tan %x : tensor<2xf32>
  %tan = stablehlo.tan %x : tensor<2xf32>
  // CHECK-NEXT: %tanh = stablehlo.tanh %x : tensor<2xf32>
  %tanh = stablehlo.tanh %x : tensor<2xf32>
  // CHECK-NEXT: %count_leading_zeros = stablehlo.count_leading_zeros %i : tensor<2xi32>
  %count_leading_zeros = stablehlo.count_leading_zeros %i : tensor<2xi32>
  // CHECK-NEXT: %not = stablehlo.not %i : tensor<2xi32>
  %not = stablehlo.not %i : tensor<2xi32>
  // CHECK-NEXT: %popcnt = stablehlo.popcnt %i : tensor<2xi32>
  %popcnt = stablehlo.popcnt %i : tensor<2xi32>
  // CHECK-NEXT: %not_p = stablehlo.not %p : tensor<2xi1>
  %not_p = stablehlo.not %p : tensor<2xi1>
  // CHECK-NEXT: %abs_z = stablehlo.abs %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %abs_z = stablehlo.abs %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK-NEXT: %real = stablehlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %real = stablehlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK-NEXT: %imag = stablehlo.imag %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %imag = stablehlo.imag %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK-NEXT: %finite = stablehlo.is_finite %x : (tensor<2xf32>) -> tensor<2xi1>
  %finite = stablehlo.is_finite %x : (tensor<2xf32>) -> tensor<2xi1>
  // CHECK-NEXT: %exact = stablehlo.tanh %x {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  %exact = stablehlo.tanh %x {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  func.return
}

// CHECK-LABEL: func.func @binary(
func.func @binary(%x: tensor<2xf32>, %i: tensor<2xi32>, %p: tensor<2xi1>, %u: tensor<ui8>) {
  // CHECK-NEXT: %add = stablehlo.add %x, %x : tensor<2xf32>
  %add = stablehlo.add %x, %x : tensor<2xf32>
  // CHECK-NEXT: %atan2 = stablehlo.atan2 %x, %x : tensor<2xf32>
  %atan2 = stablehlo.atan2 %x, %x : tensor<2xf32>
  // CHECK-NEXT: %divide = stablehlo.divide %x, %x : tensor<2xf32>
  %divide = stablehlo.divide %x, %x : tensor<2xf32>
  // CHECK-NEXT: %maximum = stablehlo.maximum %x, %x : tensor<2xf32>
  %maximum = stablehlo.maximum %x, %x : tensor<2xf32>
  // CHECK-NEXT: %minimum = stablehlo.minimum %x, %x : tensor<2xf32>
  %minimum = stablehlo.minimum %x, %x : tensor<2xf32>
  // CHECK-NEXT: %multiply = stablehlo.multiply %x, %x : tensor<2xf32>
  %multiply = stablehlo.multiply %x, %x : tensor<2xf32>
  // CHECK-NEXT: %power = stablehlo.power %x, %x : tensor<2xf32>
  %power = stablehlo.power %x, %x : tensor<2xf32>
  // CHECK-NEXT: %remainder = stablehlo.remainder %x, %x : tensor<2xf32>
  %remainder = stablehlo.remainder %x, %x : tensor<2xf32>
  // CHECK-NEXT: %subtract = stablehlo.subtract %x, %x : tensor<2xf32>
  %subtract = stablehlo.subtract %x, %x : tensor<2xf32>
  // CHECK-NEXT: %shift_left = stablehlo.shift_left %i, %i : tensor<2xi32>
  %shift_left = stablehlo.shift_left %i, %i : tensor<2xi32>
  // CHECK-NEXT: %shift_right_arithmetic = stablehlo.shift_right_arithmetic %i, %i : tensor<2xi32>
  %shift_right_arithmetic = stablehlo.shift_right_arithmetic %i, %i : tensor<2xi32>
  // CHECK-NEXT: %shift_right_logical = stablehlo.shift_right_logical %i, %i : tensor<2xi32>
  %shift_right_logical = stablehlo.shift_right_logical %i, %i : tensor<2xi32>
  // CHECK-NEXT: %and = stablehlo.and %p, %p : tensor<2xi1>
  %and = stablehlo.and %p, %p : tensor<2xi1>
  // CHECK-NEXT: %or = stablehlo.or %p, %p : tensor<2xi1>
  %or = stablehlo.or %p, %p : tensor<2xi1>
  // CHECK-NEXT: %xor = stablehlo.xor %p, %p : tensor<2xi1>
  %xor = stablehlo.xor %p, %p : tensor<2xi1>
  // CHECK-NEXT: %unsigned = stablehlo.add %u, %u {tag = "kept"} : tensor<ui8>
  %unsigned = stablehlo.add %u, %u {tag = "kept"} : tensor<ui8>
  func.return
}

// CHECK-LABEL: func.func @others(
func.func @others(%x: tensor<2xf32>, %z: tensor<2xcomplex<f32>>, %p: tensor<2xi1>, %q: tensor<i1>, %s: tensor<f32>) {
  // CHECK-NEXT: %complex = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>
  %complex = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>
  // CHECK-NEXT: %less = stablehlo.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %less = stablehlo.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK-NEXT: %total = stablehlo.compare GE, %x, %x, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %total = stablehlo.compare GE, %x, %x, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK-NEXT: %select = stablehlo.select %p, %x, %x : tensor<2xi1>, tensor<2xf32>
  %select = stablehlo.select %p, %x, %x : tensor<2xi1>, tensor<2xf32>
  // CHECK-NEXT: %choose = stablehlo.select %q, %x, %x : tensor<i1>, tensor<2xf32>
  %choose = stablehlo.select %q, %x, %x : tensor<i1>, tensor<2xf32>
  // CHECK-NEXT: %clamp = stablehlo.clamp %x, %x, %x : tensor<2xf32>
  %clamp = stablehlo.clamp %x, %x, %x : tensor<2xf32>
  // CHECK-NEXT: %limit = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %limit = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: %convert = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xbf16>
  %convert = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xbf16>
  // CHECK-NEXT: %rounded = stablehlo.reduce_precision %x, format = e5m10 : tensor<2xf32>
  %rounded = stablehlo.reduce_precision %x, format = e5m10 : tensor<2xf32>
  func.return
}
