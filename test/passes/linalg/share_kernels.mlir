// RUN: lamina-opt %s -p linalg-share-kernels | filecheck %s
// RUN: lamina-opt %s -p linalg-share-kernels,linalg-deduplicate-kernels | filecheck %s --check-prefix=ONE

// A scale and a zero point, the latter read in two places, are arguments. What both have, 1.0 and the bound, stays.

// CHECK-LABEL: func.func public @main
// CHECK:         [[S0:%.*]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT:    [[Z0:%.*]] = arith.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT:    func.call @kernel_0(%x, [[S0]], [[Z0]], %{{.*}})
// CHECK:         [[S1:%.*]] = arith.constant dense<7.500000e-01> : tensor<f32>
// CHECK-NEXT:    [[Z1:%.*]] = arith.constant dense<5.000000e+00> : tensor<f32>
// CHECK-NEXT:    func.call @kernel_1(%y, [[S1]], [[Z1]], %{{.*}})
// CHECK:       func.func private @kernel_0(%x: tensor<4xf32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %dst: tensor<4xf32>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>]
// CHECK-NEXT:    ^bb0(%v: f32, [[S:%[a-z0-9]+]]: f32, [[Z:%[a-z0-9]+]]: f32, %o: f32):
// CHECK-NEXT:      %a = arith.mulf %v, [[S]] : f32
// CHECK-NEXT:      %b = arith.addf %a, [[Z]] : f32
// CHECK-NEXT:      %one = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      %c = arith.addf %b, %one : f32
// CHECK-NEXT:      %d = arith.subf %c, [[Z]] : f32

// ONE-LABEL: func.func public @main
// ONE:         func.call @kernel_0(
// ONE:         func.call @kernel_0(
// ONE:       func.func private @kernel_0(
// ONE-NOT:   func.func private @kernel_1(
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  %y = func.call @kernel_0(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.empty() : tensor<4xf32>
  %z = func.call @kernel_1(%y, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

func.func private @kernel_0(%x: tensor<4xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%dst : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %a = arith.mulf %v, %scale : f32
    %zero = arith.constant 3.0 : f32
    %b = arith.addf %a, %zero : f32
    %one = arith.constant 1.0 : f32
    %c = arith.addf %b, %one : f32
    %again = arith.constant 3.0 : f32
    %d = arith.subf %c, %again : f32
    linalg.yield %d : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

func.func private @kernel_1(%x: tensor<4xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%dst : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %scale = arith.constant 0.75 : f32
    %a = arith.mulf %v, %scale : f32
    %zero = arith.constant 5.0 : f32
    %b = arith.addf %a, %zero : f32
    %one = arith.constant 1.0 : f32
    %c = arith.addf %b, %one : f32
    %again = arith.constant 5.0 : f32
    %d = arith.subf %c, %again : f32
    linalg.yield %d : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// An exponent decides on how a power is computed: these stay two kernels.

// CHECK-LABEL: func.func public @powers
// CHECK-NOT:     arith.constant dense
// ONE-LABEL:   func.func public @powers
// ONE:         func.call @square(
// ONE:         func.call @cube(
func.func public @powers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  %y = func.call @square(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.empty() : tensor<4xf32>
  %z = func.call @cube(%y, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

func.func private @square(%x: tensor<4xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%dst : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %two = arith.constant 2.0 : f32
    %p = math.powf %v, %two : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

func.func private @cube(%x: tensor<4xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%dst : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %three = arith.constant 3.0 : f32
    %p = math.powf %v, %three : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
