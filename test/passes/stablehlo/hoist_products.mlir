// RUN: lamina-opt %s -p stablehlo-hoist-products | filecheck %s

// Half of what is put together is an image of half the size: its share of the sum is taken there.
// CHECK-LABEL: func.func @neck
// CHECK:         %[[Q:.*]] = stablehlo.convolution(%z, %{{.*}}) {{.*}} : (tensor<1x64x64x64xf32>, tensor<96x64x1x1xf32>) -> tensor<1x96x64x64xf32>
// CHECK:         %[[P:.*]] = stablehlo.convolution(%x, %{{.*}}) {{.*}} : (tensor<1x64x32x32xf32>, tensor<96x64x1x1xf32>) -> tensor<1x96x32x32xf32>
// CHECK:         %[[A:.*]] = stablehlo.reshape %[[P]] : (tensor<1x96x32x32xf32>) -> tensor<1x96x32x1x32x1xf32>
// CHECK:         %[[B:.*]] = stablehlo.broadcast_in_dim %[[A]], {{.*}} -> tensor<1x96x32x2x32x2xf32>
// CHECK:         %[[V:.*]] = stablehlo.reshape %[[B]] : (tensor<1x96x32x2x32x2xf32>) -> tensor<1x96x64x64xf32>
// CHECK:         %[[Y:.*]] = stablehlo.add %[[Q]], %[[V]]
// CHECK:         func.return %[[Y]]
func.func @neck(%x: tensor<1x64x32x32xf32>, %z: tensor<1x64x64x64xf32>) -> tensor<1x96x64x64xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<96x128x1x1xf32>
  %0 = stablehlo.reshape %x : (tensor<1x64x32x32xf32>) -> tensor<1x64x32x1x32x1xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3, 4, 5] : (tensor<1x64x32x1x32x1xf32>) -> tensor<1x64x32x2x32x2xf32>
  %u = stablehlo.reshape %1 : (tensor<1x64x32x2x32x2xf32>) -> tensor<1x64x64x64xf32>
  %c = stablehlo.concatenate %u, %z, dim = 1 : (tensor<1x64x64x64xf32>, tensor<1x64x64x64xf32>) -> tensor<1x128x64x64xf32>
  %y = stablehlo.convolution(%c, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x128x64x64xf32>, tensor<96x128x1x1xf32>) -> tensor<1x96x64x64xf32>
  func.return %y : tensor<1x96x64x64xf32>
}

// A value that is repeated everywhere, with its channels last; the result has them first.
// CHECK-LABEL: func.func @pooled
// CHECK:         %[[P:.*]] = stablehlo.convolution(%x, %{{.*}}) {{.*}} : (tensor<1x1x1x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x32x1x1xf32>
// CHECK:         %[[T:.*]] = stablehlo.transpose %[[P]], dims = [0, 2, 3, 1]
// CHECK:         %[[B:.*]] = stablehlo.broadcast_in_dim %[[T]], dims = [0, 1, 2, 3] : (tensor<1x1x1x32xf32>) -> tensor<1x9x7x32xf32>
// CHECK:         %[[Y:.*]] = stablehlo.transpose %[[B]], dims = [0, 3, 1, 2] : (tensor<1x9x7x32xf32>) -> tensor<1x32x9x7xf32>
// CHECK:         func.return %[[Y]]
func.func @pooled(%x: tensor<1x1x1x64xf32>) -> tensor<1x32x9x7xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<1x1x64x32xf32>
  %u = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<1x9x7x64xf32>
  %y = stablehlo.convolution(%u, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x7x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x32x9x7xf32>
  func.return %y : tensor<1x32x9x7xf32>
}

// It stays where it is that something else reads what is larger, where a window is, and where factors are channels' own.
// CHECK-LABEL: func.func @read_twice
// CHECK:         stablehlo.broadcast_in_dim %x
// CHECK-NEXT:    stablehlo.convolution
func.func @read_twice(%x: tensor<1x64x1x1xf32>) -> (tensor<1x32x9x7xf32>, tensor<1x64x9x7xf32>) {
  %w = stablehlo.constant dense<1.0> : tensor<32x64x1x1xf32>
  %u = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2, 3] : (tensor<1x64x1x1xf32>) -> tensor<1x64x9x7xf32>
  %y = stablehlo.convolution(%u, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x9x7xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x9x7xf32>
  func.return %y, %u : tensor<1x32x9x7xf32>, tensor<1x64x9x7xf32>
}
// CHECK-LABEL: func.func @window
// CHECK:         stablehlo.broadcast_in_dim %x
// CHECK-NEXT:    stablehlo.convolution
func.func @window(%x: tensor<1x64x1x1xf32>) -> tensor<1x32x7x5xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<32x64x3x3xf32>
  %u = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2, 3] : (tensor<1x64x1x1xf32>) -> tensor<1x64x9x7xf32>
  %y = stablehlo.convolution(%u, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x9x7xf32>, tensor<32x64x3x3xf32>) -> tensor<1x32x7x5xf32>
  func.return %y : tensor<1x32x7x5xf32>
}
// CHECK-LABEL: func.func @scaled
// CHECK:         stablehlo.multiply
// CHECK-NEXT:    stablehlo.convolution
func.func @scaled(%x: tensor<1x64x1x1xf32>) -> tensor<1x32x9x7xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<32x64x1x1xf32>
  %s = stablehlo.constant dense_resource<scales> : tensor<64xf32>
  %f = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<64xf32>) -> tensor<1x64x9x7xf32>
  %u = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2, 3] : (tensor<1x64x1x1xf32>) -> tensor<1x64x9x7xf32>
  %m = stablehlo.multiply %u, %f : tensor<1x64x9x7xf32>
  %y = stablehlo.convolution(%m, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x9x7xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x9x7xf32>
  func.return %y : tensor<1x32x9x7xf32>
}
{-#
  dialect_resources: {
    builtin: {
      scales: "0x04000000000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42"
    }
  }
#-}
