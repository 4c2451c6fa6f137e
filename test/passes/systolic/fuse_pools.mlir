// RUN: lamina-opt %s -p 'systolic-fuse-pools' | filecheck %s
// RUN: lamina-opt %s -p 'systolic-fuse-pools' | lamina-opt | filecheck %s
// RUN: lamina-opt %s -p 'systolic-fuse-pools,convert-accel-to-tile' | filecheck %s --check-prefix=TILE

// Blocks of two rows and columns; the ninth row is in none.
// CHECK-LABEL: func.func private @block
// CHECK: %[[Y:.*]] = accel.conv_pool %0, %w, %t {{.*}}post = array<i64: 1, -128, 127>, pool = array<i64: 2, 2>} : {{.*}} -> tensor<1x4x4x4xi8>
// CHECK-NEXT: accel.leave %[[Y]]
// TILE: func.func private @conv_pool_0(%x: {{.*}}, %w: {{.*}}, %t: {{.*}}, %y: memref<4x4x4xi8, "dram">)
// TILE: %[[B:.*]] = tile.requantize %{{.*}} in "b"
// TILE: %[[O:.*]] = tile.max %[[B]] in "o" {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>}
// TILE: tile.store %[[O]]
func.func private @block(%x: tensor<1x4x9x8xi8>) -> tensor<1x4x4x4xi8> attributes {systolic.machine = "tiny4"} {
  %0 = accel.enter %x : tensor<1x4x9x8xi8> -> tensor<1x9x8x4xi8>
  %w = arith.constant dense<1> : tensor<1x1x9x4x4xi8>
  %t = arith.constant dense<3> : tensor<1x4x2xi32>
  %a = accel.conv %0, %w, %t {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, pad = 0 : i8, post = array<i64: 1, -128, 127>} : tensor<1x9x8x4xi8>, tensor<1x1x9x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x9x8x4xi8>
  %y = accel.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, pad = -128 : i8} : tensor<1x9x8x4xi8> -> tensor<1x4x4x4xi8>
  %1 = accel.leave %y : tensor<1x4x4x4xi8> -> tensor<1x4x4x4xi8>
  func.return %1 : tensor<1x4x4x4xi8>
}

// Windows that overlap, and a convolution that another layer reads.
// CHECK-LABEL: func.func private @apart
// CHECK-NOT: conv_pool
func.func private @apart(%x: tensor<1x4x9x9xi8>) -> (tensor<1x4x4x4xi8>, tensor<1x4x4x4xi8>, tensor<1x4x9x9xi8>) attributes {systolic.machine = "tiny4"} {
  %0 = accel.enter %x : tensor<1x4x9x9xi8> -> tensor<1x9x9x4xi8>
  %w = arith.constant dense<1> : tensor<1x1x9x4x4xi8>
  %t = arith.constant dense<3> : tensor<1x4x2xi32>
  %a = accel.conv %0, %w, %t {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, pad = 0 : i8, post = array<i64: 1, -128, 127>} : tensor<1x9x9x4xi8>, tensor<1x1x9x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x9x9x4xi8>
  %y = accel.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, pad = -128 : i8} : tensor<1x9x9x4xi8> -> tensor<1x4x4x4xi8>
  %b = accel.conv %0, %w, %t {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, pad = 0 : i8, post = array<i64: 1, -128, 127>} : tensor<1x9x9x4xi8>, tensor<1x1x9x4x4xi8>, tensor<1x4x2xi32> -> tensor<1x9x9x4xi8>
  %z = accel.max_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, pad = -128 : i8} : tensor<1x9x9x4xi8> -> tensor<1x4x4x4xi8>
  %1 = accel.leave %y : tensor<1x4x4x4xi8> -> tensor<1x4x4x4xi8>
  %2 = accel.leave %z : tensor<1x4x4x4xi8> -> tensor<1x4x4x4xi8>
  %3 = accel.leave %b : tensor<1x9x9x4xi8> -> tensor<1x4x9x9xi8>
  func.return %1, %2, %3 : tensor<1x4x4x4xi8>, tensor<1x4x4x4xi8>, tensor<1x4x9x9xi8>
}
