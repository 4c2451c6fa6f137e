// RUN: lamina-opt %s --split-input-file -p stablehlo-store-as-bytes | filecheck %s

// Four bits with a sign: raised to the top of a byte, and back with the sign's copies.
// CHECK-LABEL: func.func @signed(%x: tensor<3xui8>) -> tensor<3xf32>
// CHECK: stablehlo.shift_left %x
// CHECK: stablehlo.bitcast_convert
// CHECK: stablehlo.shift_right_arithmetic
// CHECK: stablehlo.convert {{.*}} : (tensor<3xi8>) -> tensor<3xf32>
func.func @signed(%x: tensor<3xi4>) -> tensor<3xf32> {
  %y = stablehlo.convert %x : (tensor<3xi4>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// Movement moves bytes; integers lose their upper bits.
// CHECK-LABEL: func.func @moved(%x: tensor<2x3xi32>) -> tensor<3x2xui8>
// CHECK: stablehlo.convert %x : (tensor<2x3xi32>) -> tensor<2x3xui8>
// CHECK: stablehlo.and
// CHECK: stablehlo.transpose {{.*}} -> tensor<3x2xui8>
func.func @moved(%x: tensor<2x3xi32>) -> tensor<3x2xui2> {
  %y = stablehlo.convert %x : (tensor<2x3xi32>) -> tensor<2x3xui2>
  %z = stablehlo.transpose %y, dims = [1, 0] : (tensor<2x3xui2>) -> tensor<3x2xui2>
  func.return %z : tensor<3x2xui2>
}

// -----

// A float of eight bits is read by a table of its values; what computes with it computes in f32.
// CHECK-LABEL: func.func @table(%x: tensor<2xui8>) -> tensor<2xi1>
// CHECK: "stablehlo.gather"{{.*}} : (tensor<256xf32>, tensor<2xi32>) -> tensor<2xf32>
// CHECK: stablehlo.compare {{.*}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
func.func @table(%x: tensor<2xf8E4M3FN>) -> tensor<2xi1> {
  %y = stablehlo.compare EQ, %x, %x : (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) -> tensor<2xi1>
  func.return %y : tensor<2xi1>
}

// -----

// Without narrow elements nothing changes.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: stablehlo.add %x, %x : tensor<2xi8>
func.func @plain(%x: tensor<2xi8>) -> tensor<2xi8> {
  %y = stablehlo.add %x, %x : tensor<2xi8>
  func.return %y : tensor<2xi8>
}
