// RUN: lamina-opt %s -p 'systolic-fuse-adds' | filecheck %s
// RUN: lamina-opt %s -p 'systolic-fuse-adds' | lamina-opt | filecheck %s
// RUN: lamina-opt %s -p 'systolic-fuse-adds,convert-accel-to-tile' | filecheck %s --check-prefix=TILE

// The second convolution has more products than the first, and stands behind in the sum.
// CHECK-LABEL: func.func private @block
// CHECK: %[[A:.*]] = accel.conv %
// CHECK-NOT: accel.conv %
// CHECK: %[[Y:.*]] = accel.conv_add %{{.*}}, %{{.*}}, %{{.*}}, %[[A]] {{.*}}post = array<i64: 3, -128, 127>, factors = [5.000000e-01 : f32, 2.500000e-01 : f32, 3.000000e+00 : f32], total = array<i64: 0, -128, 127>, behind}
// CHECK-NEXT: accel.leave %[[Y]]
// TILE: func.func private @conv_add_1(%x: {{.*}}, %w: {{.*}}, %t: {{.*}}, %r: memref<8x32xi8, "dram">, %y: memref<8x8x4xi8, "dram">)
// TILE: %[[R:.*]] = tile.patch %r[
// TILE: %[[B:.*]] = tile.requantize %{{.*}} in "b"
// TILE: %[[O:.*]] = tile.add %[[R]], %[[B]] in "o"
// TILE: tile.store %[[O]]
func.func private @block(%x: tensor<1x4x8x8xi8>) -> tensor<1x4x8x8xi8> attributes {systolic.machine = "tiny4"} {
  %0 = accel.enter %x : tensor<1x4x8x8xi8> -> tensor<1x8x8x4xi8>
  %w = arith.constant dense<1> : tensor<1x1x4x4x4xi8>
  %v = arith.constant dense<2> : tensor<1x1x9x4x4xi8>
  %t = arith.constant dense<3> : tensor<1x4x2xi32>
  %a = accel.conv %0, %w, %t {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 1, 1>, pad = 0 : i8, post = array<i64: 1, -128, 127>} : tensor<1x8x8x4xi8>, tensor<1x1x4x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x8x8x4xi8>
  %b = accel.conv %0, %v, %t {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, pad = 0 : i8, post = array<i64: 3, -128, 127>} : tensor<1x8x8x4xi8>, tensor<1x1x9x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x8x8x4xi8>
  %y = accel.add %a, %b {factors = [0.5 : f32, 0.25 : f32, 3.0 : f32], post = array<i64: 0, -128, 127>} : tensor<1x8x8x4xi8>, tensor<1x8x8x4xi8> -> tensor<1x8x8x4xi8>
  %1 = accel.leave %y : tensor<1x8x8x4xi8> -> tensor<1x4x8x8xi8>
  func.return %1 : tensor<1x4x8x8xi8>
}

// A convolution that another layer reads, and one of a single block of channels, whose products would not hide it.
// CHECK-LABEL: func.func private @apart
// CHECK-NOT: conv_add
func.func private @apart(%x: tensor<1x4x8x8xi8>) -> (tensor<1x4x8x8xi8>, tensor<1x4x8x8xi8>) attributes {systolic.machine = "tiny4"} {
  %0 = accel.enter %x : tensor<1x4x8x8xi8> -> tensor<1x8x8x4xi8>
  %w = arith.constant dense<1> : tensor<1x1x4x4x4xi8>
  %v = arith.constant dense<2> : tensor<1x1x1x4x4xi8>
  %t = arith.constant dense<3> : tensor<1x4x2xi32>
  %a = accel.conv %0, %w, %t {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 1, 1>, pad = 0 : i8, post = array<i64: 1, -128, 127>} : tensor<1x8x8x4xi8>, tensor<1x1x4x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x8x8x4xi8>
  %b = accel.conv %0, %v, %t {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, pad = 0 : i8, post = array<i64: 3, -128, 127>} : tensor<1x8x8x4xi8>, tensor<1x1x1x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x8x8x4xi8>
  %y = accel.add %a, %b {factors = [0.5 : f32, 0.25 : f32, 3.0 : f32], post = array<i64: 0, -128, 127>} : tensor<1x8x8x4xi8>, tensor<1x8x8x4xi8> -> tensor<1x8x8x4xi8>
  %1 = accel.leave %y : tensor<1x8x8x4xi8> -> tensor<1x4x8x8xi8>
  %2 = accel.leave %a : tensor<1x8x8x4xi8> -> tensor<1x4x8x8xi8>
  func.return %1, %2 : tensor<1x4x8x8xi8>, tensor<1x4x8x8xi8>
}
