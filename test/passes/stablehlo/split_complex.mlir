// RUN: lamina-opt %s -p stablehlo-split-complex | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%x: tensor<3x2xf32>, %r: tensor<3xf32>) -> tensor<3x2xf32>
func.func @main(%x: tensor<3xcomplex<f32>>, %r: tensor<3xf32>) -> tensor<3xcomplex<f32>> {
  // CHECK: %[[RE:.*]] = stablehlo.reshape {{.*}} : (tensor<3x1xf32>) -> tensor<3xf32>
  // CHECK: stablehlo.slice %x [0:3, 1:2]
  // CHECK: %[[IM:.*]] = stablehlo.reshape {{.*}} : (tensor<3x1xf32>) -> tensor<3xf32>
  // CHECK-DAG: %[[AC:.*]] = stablehlo.multiply %[[RE]], %[[RE]]
  // CHECK-DAG: %[[BD:.*]] = stablehlo.multiply %[[IM]], %[[IM]]
  // CHECK: stablehlo.subtract %[[AC]], %[[BD]]
  // CHECK: call @twice(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK: stablehlo.concatenate {{.*}}, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %y = stablehlo.multiply %x, %x : tensor<3xcomplex<f32>>
  %z = func.call @twice(%y) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  func.return %z : tensor<3xcomplex<f32>>
}

// CHECK: func.func private @twice(%{{.*}}: tensor<3xf32> {lamina.test}, %{{.*}}: tensor<3xf32> {lamina.test}) -> (tensor<3xf32>, tensor<3xf32>)
func.func private @twice(%x: tensor<3xcomplex<f32>> {lamina.test}) -> tensor<3xcomplex<f32>> {
  %y = stablehlo.add %x, %x : tensor<3xcomplex<f32>>
  func.return %y : tensor<3xcomplex<f32>>
}

// Reductions take a pair of accumulators, a sort's comparator both sides of each part.
// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<3xcomplex<f64>>) -> (tensor<complex<f64>>, tensor<3xcomplex<f64>>) {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [0]
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>
  // CHECK: "stablehlo.sort"
  // CHECK-NEXT: ^{{.*}}(%[[RA:.*]]: tensor<f64>, %[[RB:.*]]: tensor<f64>, %{{.*}}: tensor<f64>, %{{.*}}: tensor<f64>):
  // CHECK: stablehlo.compare LT, %[[RA]], %[[RB]]
  %sorted = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<f64>>, %b: tensor<complex<f64>>):
    %ra = stablehlo.real %a : (tensor<complex<f64>>) -> tensor<f64>
    %rb = stablehlo.real %b : (tensor<complex<f64>>) -> tensor<f64>
    %less = stablehlo.compare LT, %ra, %rb : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
  func.return %sum, %sorted : tensor<complex<f64>>, tensor<3xcomplex<f64>>
}

// Programs of real numbers stay.
// CHECK-NOT: complex
