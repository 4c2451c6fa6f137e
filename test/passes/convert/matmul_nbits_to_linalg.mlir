// RUN: lamina-opt %s --machine x86-64-avx512 -p convert-matmul-nbits-to-linalg | filecheck %s
// RUN: lamina-opt %s -p 'convert-matmul-nbits-to-linalg{lanes=8}' | filecheck %s --check-prefix LANES
// RUN: lamina-opt %s --machine x86-64-amx -p 'convert-matmul-nbits-to-linalg{precision=bf16}' | filecheck %s --check-prefix NARROW

// Rows of floats: panels of 16 columns, filled up; each block begins with -8 times the sum of its row.
// CHECK-LABEL: func.func public @floats
// CHECK-NOT: composite
// CHECK-DAG: %[[X:.*]] = stablehlo.reshape %{{.*}} -> tensor<2x3x32xf32>
// CHECK-DAG: stablehlo.reduce{{.*}}dimensions = [2]
// CHECK-DAG: %[[W:.*]] = linalg.pack %{{.*}} inner_dims_pos = [0, 1] inner_tiles = [16, 4] into %{{.*}} : tensor<24x32xi8> -> tensor<2x8x16x4xi8>
// CHECK-DAG: %[[S:.*]] = linalg.pack %{{.*}} inner_dims_pos = [0] inner_tiles = [16] into %{{.*}} : tensor<24x2xf32> -> tensor<2x2x16xf32>
// CHECK: %[[M:.*]] = stablehlo.constant dense<-8.000000e+00>
// CHECK: linalg_ext.matmul_nbits"(%[[X]], %[[W]], %[[S]], %{{.*}}) <{bits = 4 : i64
// CHECK-NOT: dot_general
// CHECK: return
// CHECK-NOT: func.func private @meaning

// LANES: inner_tiles = [8, 4]
func.func public @floats(%x: tensor<3x64xf32>) -> tensor<3x24xf32> {
  %w = stablehlo.constant dense<1> : tensor<24x2x16xui8>
  %s = stablehlo.constant dense<0.5> : tensor<24x2xf32>
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @meaning} : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// Rows of bytes, and zero points of each block and column: those times the sums of the blocks are a product.
// CHECK-LABEL: func.func public @bytes
// CHECK: stablehlo.abs
// CHECK: stablehlo.divide {{.*}} tensor<2x3xf32>
// CHECK: stablehlo.round_nearest_even
// CHECK: stablehlo.is_finite
// CHECK: stablehlo.convert {{.*}} -> tensor<2x3x32xi8>
// CHECK: linalg_ext.matmul_nbits"
// CHECK-SAME: tensor<2x3x32xi8>, tensor<2x8x16x4xi8>, tensor<2x2x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<3x24xf32>
// CHECK: stablehlo.dot_general
func.func public @bytes(%x: tensor<3x64xf32>) -> tensor<3x24xf32> {
  %w = stablehlo.constant dense<1> : tensor<24x2x16xui8>
  %s = stablehlo.constant dense<0.5> : tensor<24x2xf32>
  %z = stablehlo.constant dense<7.0> : tensor<24x2xf32>
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s, %z {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 4 : i64}, decomposition = @zeros} : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>, tensor<24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// Rows that fill tiles of AMX become bfloat16, where that is asked for; their blocks begin with nothing. Three do not.
// NARROW-LABEL: func.func public @floats
// NARROW: linalg_ext.matmul_nbits"{{.*}} : (tensor<2x3x32xf32>
// NARROW-LABEL: func.func public @bytes
// NARROW: linalg_ext.matmul_nbits"{{.*}} : (tensor<2x3x32xi8>
// NARROW-LABEL: func.func public @tiles
// NARROW: %[[X:[0-9]+]] = stablehlo.convert %{{.*}} : (tensor<2x20x32xf32>) -> tensor<2x20x32xbf16>
// NARROW: linalg_ext.matmul_nbits"(%[[X]], %{{.*}}, %{{.*}}, %{{.*}}) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (tensor<2x20x32xbf16>, tensor<2x8x16x4xi8>, tensor<2x2x16xf32>, tensor<20x24xf32>)

// CHECK-LABEL: func.func public @tiles
// CHECK: linalg_ext.matmul_nbits"{{.*}} : (tensor<2x20x32xf32>
func.func public @tiles(%x: tensor<20x64xf32>) -> tensor<20x24xf32> {
  %w = stablehlo.constant dense<1> : tensor<24x2x16xui8>
  %s = stablehlo.constant dense<0.5> : tensor<24x2xf32>
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @many} : (tensor<20x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<20x24xf32>
  func.return %y : tensor<20x24xf32>
}

// Rows of three groups: a loop over tiles of one, which cuts what its group has out of the panels of all. Zero points,
// too; blocks of 256 elements are two that have the same scale.
// CHECK-LABEL: func.func public @groups
// CHECK-DAG: %[[P:[0-9]+]] = linalg.pack %{{.*}} inner_dims_pos = [1, 2] inner_tiles = [16, 4] into %{{.*}} : tensor<3x24x128xi8> -> tensor<3x2x32x16x4xi8>
// CHECK-DAG: %[[S:[0-9]+]] = linalg.pack %{{.*}} inner_dims_pos = [1] inner_tiles = [16] into %{{.*}} : tensor<3x24x1xf32> -> tensor<3x2x1x16xf32>
// CHECK: stablehlo.while
// CHECK: %[[CUT:[0-9]+]] = stablehlo.dynamic_slice %[[P]], %{{.*}} sizes = [1, 2, 32, 16, 4]
// CHECK: %[[OWN:[0-9]+]] = stablehlo.reshape %[[CUT]] : (tensor<1x2x32x16x4xi8>) -> tensor<2x32x16x4xi8>
// CHECK: stablehlo.dynamic_slice %[[S]], %{{.*}} sizes = [1, 2, 1, 16]
// CHECK: %[[TWO:[0-9]+]] = stablehlo.reshape %{{.*}} : (tensor<2x1x2x16xf32>) -> tensor<2x2x16xf32>
// CHECK: "linalg_ext.matmul_nbits"(%{{.*}}, %[[OWN]], %[[TWO]]
// CHECK-SAME: (tensor<2x1x128xf32>, tensor<2x32x16x4xi8>, tensor<2x2x16xf32>, tensor<2x1xf32>, tensor<1x24xf32>)
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.dynamic_update_slice
func.func public @groups(%x: tensor<3x256xf32>, %sizes: tensor<3xi32>) -> tensor<3x24xf32> {
  %w = stablehlo.constant dense<1> : tensor<3x24x1x128xui8>
  %s = stablehlo.constant dense<0.5> : tensor<3x24x1xf32>
  %z = stablehlo.constant dense<7.0> : tensor<3x24x1xf32>
  %y = stablehlo.composite "lamina.grouped_matmul_nbits" %x, %sizes, %w, %s, %z {composite_attributes = {bits = 4 : i64, block_size = 256 : i64, accuracy_level = 0 : i64}, decomposition = @of_groups} : (tensor<3x256xf32>, tensor<3xi32>, tensor<3x24x1x128xui8>, tensor<3x24x1xf32>, tensor<3x24x1xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @of_groups(%x: tensor<3x256xf32>, %sizes: tensor<3xi32>, %w: tensor<3x24x1x128xui8>, %s: tensor<3x24x1xf32>, %z: tensor<3x24x1xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @many(%x: tensor<20x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<20x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<20x24xf32>
  func.return %y : tensor<20x24xf32>
}

func.func private @meaning(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @zeros(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>, %z: tensor<24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}
