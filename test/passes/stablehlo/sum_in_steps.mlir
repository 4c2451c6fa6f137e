// RUN: lamina-opt %s -p stablehlo-sum-in-steps | filecheck %s

builtin.module {
  // CHECK-LABEL: @image
  // CHECK: %[[R:.*]] = stablehlo.reduce(%x init: %{{.*}}) applies stablehlo.add across dimensions = [2] : (tensor<2x80x64x5xf32>, tensor<f32>) -> tensor<2x80x5xf32>
  // CHECK: stablehlo.reduce(%[[R]] init: %start) applies stablehlo.add across dimensions = [1] : (tensor<2x80x5xf32>, tensor<f32>) -> tensor<2x5xf32>
  func.func @image(%x: tensor<2x80x64x5xf32>, %start: tensor<f32>) -> tensor<2x5xf32> {
    %y = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x80x64x5xf32>, tensor<f32>) -> tensor<2x5xf32>
    func.return %y : tensor<2x5xf32>
  }

  // Dimensions of one element stay with the others.
  // CHECK-LABEL: @batch
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [2] :
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x80x1x5xf32>, tensor<f32>) -> tensor<5xf32>
  func.func @batch(%x: tensor<1x80x64x1x5xf32>, %start: tensor<f32>) -> tensor<5xf32> {
    %y = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x80x64x1x5xf32>, tensor<f32>) -> tensor<5xf32>
    func.return %y : tensor<5xf32>
  }

  // Few points, vectors along what is summed, and others than sums stay.
  // CHECK-LABEL: @others
  // CHECK-COUNT-3: stablehlo.reduce
  // CHECK-NOT: stablehlo.reduce
  func.func @others(%x: tensor<1x7x7x512xf32>, %y: tensor<1x5x80x64xf32>, %z: tensor<1x80x64x5xf32>, %start: tensor<f32>) -> (tensor<1x512xf32>, tensor<1x5xf32>, tensor<1x5xf32>) {
    %a = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x7x7x512xf32>, tensor<f32>) -> tensor<1x512xf32>
    %b = stablehlo.reduce(%y init: %start) applies stablehlo.add across dimensions = [2, 3] : (tensor<1x5x80x64xf32>, tensor<f32>) -> tensor<1x5xf32>
    %c = stablehlo.reduce(%z init: %start) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<1x80x64x5xf32>, tensor<f32>) -> tensor<1x5xf32>
    func.return %a, %b, %c : tensor<1x512xf32>, tensor<1x5xf32>, tensor<1x5xf32>
  }
}
