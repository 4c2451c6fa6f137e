// RUN: lamina-opt %s --machine x86-64-avx512 -p stablehlo-propagate-layout | filecheck %s

// A product of matrices; what is done with the image is done with its columns.
// CHECK-LABEL: @pointwise
// CHECK-NOT:   stablehlo.transpose
// CHECK:       [[W:%.*]] = stablehlo.reshape %w : (tensor<8x3x1x1xf32>) -> tensor<8x3xf32>
// CHECK:       [[X:%.*]] = stablehlo.reshape %x : (tensor<1x3x4x5xf32>) -> tensor<3x20xf32>
// CHECK:       [[P:%.*]] = stablehlo.dot_general [[W]], [[X]], contracting_dims = [1] x [0]
// CHECK:       [[B:%.*]] = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<8xf32>) -> tensor<8x20xf32>
// CHECK:       [[S:%.*]] = stablehlo.add [[P]], [[B]]
// CHECK:       [[R:%.*]] = stablehlo.reshape %r : (tensor<1x8x4x5xf32>) -> tensor<8x20xf32>
// CHECK:       [[T:%.*]] = stablehlo.add [[S]], [[R]]
// CHECK:       stablehlo.reshape [[T]] : (tensor<8x20xf32>) -> tensor<1x8x4x5xf32>
func.func @pointwise(%x: tensor<1x3x4x5xf32>, %w: tensor<8x3x1x1xf32>, %b: tensor<8xf32>, %r: tensor<1x8x4x5xf32>) -> tensor<1x8x4x5xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4x5xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x4x5xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<1x8x4x5xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x8x4x5xf32>
  %3 = stablehlo.add %2, %r : tensor<1x8x4x5xf32>
  return %3 : tensor<1x8x4x5xf32>
}

// Several images: the filters are repeated, which moves nothing.
// CHECK-LABEL: @several
// CHECK:       stablehlo.broadcast_in_dim {{.*}}, dims = [1, 2] : (tensor<8x3xf32>) -> tensor<2x8x3xf32>
// CHECK:       stablehlo.dot_general {{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1]
// CHECK-SAME:  -> tensor<2x8x20xf32>
func.func @several(%x: tensor<2x3x4x5xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<2x8x4x5xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x4x5xf32>, tensor<8x3x1x1xf32>) -> tensor<2x8x4x5xf32>
  return %0 : tensor<2x8x4x5xf32>
}

// With a stride, of the points that are read.
// CHECK-LABEL: @strided
// CHECK:       stablehlo.slice %x [0:1, 0:3, 0:9:2, 0:11:2] : (tensor<1x3x9x11xf32>) -> tensor<1x3x5x6xf32>
// CHECK:       stablehlo.dot_general {{.*}} -> tensor<8x30xf32>
func.func @strided(%x: tensor<1x3x9x11xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<1x8x5x6xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x9x11xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x5x6xf32>
  return %0 : tensor<1x8x5x6xf32>
}

// Groups are a batch of products; what is done with the image is done with them.
// CHECK-LABEL: @groups
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.dot_general {{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1]
// CHECK-SAME:  -> tensor<2x4x20xf32>
// CHECK:       stablehlo.broadcast_in_dim {{.*}}, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x20xf32>
// CHECK:       stablehlo.add {{.*}} : tensor<2x4x20xf32>
func.func @groups(%x: tensor<1x6x4x5xf32>, %w: tensor<8x3x1x1xf32>, %b: tensor<8xf32>) -> tensor<1x8x4x5xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x4x5xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x4x5xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<1x8x4x5xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x8x4x5xf32>
  return %2 : tensor<1x8x4x5xf32>
}

// Few channels: the rows of the image are the vectors.
// CHECK-LABEL: @few_channels
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = {{\[\[}}1, 1], [1, 1]]}
func.func @few_channels(%x: tensor<1x3x9x16xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x9x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x9x16xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x9x16xf32>
  return %0 : tensor<1x8x9x16xf32>
}

// A stride along the rows: each column of the window reads a channel of its own.
// CHECK-LABEL: @skipping
// CHECK:       [[P:%.*]] = stablehlo.pad %x, {{.*}} low = [0, 0, 1, 1], high = [0, 0, 1, 1], interior = [0, 0, 0, 0]
// CHECK:       stablehlo.slice [[P]] [0:1, 0:3, 0:11, 0:31:2] : (tensor<1x3x11x34xf32>) -> tensor<1x3x11x16xf32>
// CHECK:       stablehlo.slice [[P]] [0:1, 0:3, 0:11, 1:32:2]
// CHECK:       stablehlo.slice [[P]] [0:1, 0:3, 0:11, 2:33:2]
// CHECK:       stablehlo.concatenate {{.*}}, dim = 1 : {{.*}} -> tensor<1x9x11x16xf32>
// CHECK:       stablehlo.transpose %w, dims = [0, 3, 1, 2]
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1]{{.*}} : (tensor<1x9x11x16xf32>, tensor<8x9x3x1xf32>) -> tensor<1x8x5x16xf32>
func.func @skipping(%x: tensor<1x3x9x32xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x5x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x9x32xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x5x16xf32>
  return %0 : tensor<1x8x5x16xf32>
}

// Many columns side by side: a transpose does that.
// CHECK-LABEL: @patches_and_a_row
// CHECK-NOT:   stablehlo.concatenate
// CHECK:       [[S:%.*]] = stablehlo.reshape %x : (tensor<1x3x9x128xf32>) -> tensor<1x3x9x16x8xf32>
// CHECK:       [[T:%.*]] = stablehlo.transpose [[S]], dims = [0, 4, 1, 2, 3] : {{.*}} -> tensor<1x8x3x9x16xf32>
// CHECK:       [[P:%.*]] = stablehlo.reshape [[T]] : {{.*}} -> tensor<1x24x9x16xf32>
// CHECK:       stablehlo.convolution([[P]], {{.*}} : (tensor<1x24x9x16xf32>, tensor<8x24x4x1xf32>) -> tensor<1x8x2x16xf32>
func.func @patches_and_a_row(%x: tensor<1x3x9x128xf32>, %w: tensor<8x3x4x8xf32>) -> tensor<1x8x2x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [4, 8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x9x128xf32>, tensor<8x3x4x8xf32>) -> tensor<1x8x2x16xf32>
  return %0 : tensor<1x8x2x16xf32>
}

// Where the patches are the whole image, they are the columns of a matrix.
// CHECK-LABEL: @patches
// CHECK:       [[S:%.*]] = stablehlo.reshape %x : (tensor<1x3x8x128xf32>) -> tensor<1x3x2x4x16x8xf32>
// CHECK:       [[T:%.*]] = stablehlo.transpose [[S]], dims = [0, 1, 3, 5, 2, 4] : {{.*}} -> tensor<1x3x4x8x2x16xf32>
// CHECK:       stablehlo.dot_general {{.*}} : (tensor<8x96xf32>, tensor<96x32xf32>) -> tensor<8x32xf32>
func.func @patches(%x: tensor<1x3x8x128xf32>, %w: tensor<8x3x4x8xf32>) -> tensor<1x8x2x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [4, 8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x8x128xf32>, tensor<8x3x4x8xf32>) -> tensor<1x8x2x16xf32>
  return %0 : tensor<1x8x2x16xf32>
}

// With groups, what a channel's columns become stays beside it.
// CHECK-LABEL: @skipping_groups
// CHECK:       stablehlo.concatenate {{.*}}, dim = 2 : {{.*}} -> tensor<1x4x3x11x16xf32>
// CHECK:       stablehlo.transpose %w, dims = [0, 1, 3, 2]
// CHECK:       stablehlo.convolution({{.*}}feature_group_count = 2{{.*}} : (tensor<1x12x11x16xf32>, tensor<8x6x3x1xf32>)
func.func @skipping_groups(%x: tensor<1x4x9x32xf32>, %w: tensor<8x2x3x3xf32>) -> tensor<1x8x5x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x4x9x32xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x5x16xf32>
  return %0 : tensor<1x8x5x16xf32>
}

// Every other row and column is an image of its own, to which the window is dense.
// Along one dimension no window is left: a product.
// CHECK-LABEL: @lines
// CHECK-DAG: %[[P:.*]] = stablehlo.pad %x
// CHECK-DAG: %[[A:.*]] = stablehlo.slice %[[P]] [0:1, 0:3, 0:39:2]
// CHECK-DAG: %[[B:.*]] = stablehlo.slice %[[P]] [0:1, 0:3, 1:40:2]
// CHECK: %[[C:.*]] = stablehlo.concatenate %[[A]], %[[B]]
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0]{{.*}} : (tensor<8x6xf32>, tensor<6x20xf32>) -> tensor<8x20xf32>
// CHECK-NOT: stablehlo.convolution
func.func @lines(%x: tensor<1x3x40xf32>, %w: tensor<8x3x2xf32>) -> tensor<1x8x20xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x40xf32>, tensor<8x3x2xf32>) -> tensor<1x8x20xf32>
  return %y : tensor<1x8x20xf32>
}

// CHECK-LABEL: @dilated
// CHECK:       stablehlo.transpose {{.*}}, dims = [0, 3, 5, 2, 4, 1]
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = {{\[\[}}1, 1], [2, 0]]} {{.*}} : (tensor<4x3x4x20xf32>, tensor<3x3x20x8xf32>) -> tensor<4x3x4x8xf32>
// CHECK:       stablehlo.transpose {{.*}}, dims = [0, 3, 1, 4, 2, 5]
func.func @dilated(%x: tensor<1x20x6x8xf32>, %w: tensor<8x20x3x3xf32>) -> tensor<1x8x6x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [4, 0]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x20x6x8xf32>, tensor<8x20x3x3xf32>) -> tensor<1x8x6x8xf32>
  return %0 : tensor<1x8x6x8xf32>
}

// CHECK-LABEL: @depthwise
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]
func.func @depthwise(%x: tensor<1x3x5x5xf32>, %w: tensor<3x1x3x3xf32>) -> tensor<1x3x3x3xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x3x5x5xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x3x3xf32>
  return %0 : tensor<1x3x3x3xf32>
}

// Images of few points, or narrow ones, are fast with channels last alone.
// CHECK-LABEL: @others
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
func.func @others(%x: tensor<1x3x3x3xf32>, %w: tensor<8x3x1x1xf32>, %v: tensor<8x3x2x2xf32>) -> (tensor<1x8x3x3xf32>, tensor<1x8x2x2xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x3xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x3x3xf32>
  %1 = stablehlo.convolution(%x, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x3xf32>, tensor<8x3x2x2xf32>) -> tensor<1x8x2x2xf32>
  return %0, %1 : tensor<1x8x3x3xf32>, tensor<1x8x2x2xf32>
}

// Patches that become rows, as those of a vision transformer: channels last are the rows, and nothing is turned.
// CHECK-LABEL: @patches_as_rows
// CHECK:       [[X:%.*]] = stablehlo.transpose %x, dims = [0, 2, 3, 1]
// CHECK:       [[W:%.*]] = stablehlo.transpose %w, dims = [2, 3, 1, 0]
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.convolution([[X]], [[W]]) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK-NOT:   stablehlo.transpose
// CHECK:       return {{.*}} : tensor<1x192x16xf32>
func.func @patches_as_rows(%x: tensor<1x3x96x128xf32>, %w: tensor<16x3x8x8xf32>, %b: tensor<16xf32>) -> tensor<1x192x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [8, 8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x96x128xf32>, tensor<16x3x8x8xf32>) -> tensor<1x16x12x16xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<1x16x12x16xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x16x12x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x16x12x16xf32>) -> tensor<1x16x192xf32>
  %4 = stablehlo.transpose %3, dims = [0, 2, 1] : (tensor<1x16x192xf32>) -> tensor<1x192x16xf32>
  return %4 : tensor<1x192x16xf32>
}

// One convolution after another, whatever is in between.
// CHECK-LABEL: @two
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]
func.func @two(%x: tensor<1x3x4x5xf32>, %w: tensor<8x3x1x1xf32>, %v: tensor<8x8x1x1xf32>) -> tensor<1x8x4x5xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4x5xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x4x5xf32>
  %1 = stablehlo.abs %0 : tensor<1x8x4x5xf32>
  %2 = stablehlo.convolution(%1, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x5xf32>
  return %2 : tensor<1x8x4x5xf32>
}

// Rows of twenty points leave the second vector nearly empty, 32 filters fill two.
// CHECK-LABEL: @wasting
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
func.func @wasting(%x: tensor<1x4x84x84xf32>, %w: tensor<32x4x8x8xf32>) -> tensor<1x32x20x20xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [4, 4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x84x84xf32>, tensor<32x4x8x8xf32>) -> tensor<1x32x20x20xf32>
  return %0 : tensor<1x32x20x20xf32>
}

// Six filters leave more of theirs.
// CHECK-LABEL: @wasting_filters
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]
func.func @wasting_filters(%x: tensor<1x4x84x84xf32>, %w: tensor<6x4x8x8xf32>) -> tensor<1x6x20x20xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [4, 4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x84x84xf32>, tensor<6x4x8x8xf32>) -> tensor<1x6x20x20xf32>
  return %0 : tensor<1x6x20x20xf32>
}
