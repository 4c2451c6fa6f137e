// RUN: lamina-opt %s -p gpu-split-reductions --split-input-file | filecheck %s
// RUN: lamina-opt %s -p gpu-split-reductions,linalg-outline-kernels --split-input-file | filecheck %s --check-prefix KERNELS

// 96 columns of 3,136 numbers: parts of 56, one for each line of the image, which begin with what changes nothing; the
// parts' combination begins where the whole did. Each is a kernel, the second one with what follows.
// CHECK: %[[LINES:.*]] = tensor.expand_shape %x {{.*}} output_shape [1, 56, 1, 56, 96]
// CHECK: %[[NOTHING:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: linalg.fill ins(%[[NOTHING]] : f32) outs(%{{.*}} : tensor<56x1x96xf32>)
// CHECK: %[[PARTS:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"]} ins(%[[LINES]] : tensor<1x56x1x56x96xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[PARTS]] : tensor<56x1x96xf32>) outs(%start
// CHECK: linalg.generic {{.*}} ins(%[[SUM]]
// KERNELS-COUNT-2: func.call @kernel_
// KERNELS-NOT: func.call
// KERNELS: func.return
func.func public @columns(%x: tensor<1x56x56x96xf32>) -> tensor<1x96xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<1x96xf32>
  %start = linalg.fill ins(%one : f32) outs(%e : tensor<1x96xf32>) -> tensor<1x96xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, c)>], iterator_types = ["parallel", "reduction", "reduction", "parallel"]}
    ins(%x : tensor<1x56x56x96xf32>) outs(%start : tensor<1x96xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %q = arith.mulf %a, %a : f32
    %t = arith.addf %acc, %q : f32
    linalg.yield %t : f32
  } -> tensor<1x96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (n, c)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1x96xf32>) outs(%e : tensor<1x96xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.sqrt %a : f32
    linalg.yield %t : f32
  } -> tensor<1x96xf32>
  func.return %r : tensor<1x96xf32>
}

// -----

// All of a matrix: parts that a block has registers for; of integers the largest, which begins with the least.
// CHECK: tensor.expand_shape %x {{.*}} output_shape [512, 2, 4096]
// CHECK: arith.constant -2147483648 : i32
// CHECK: ["parallel", "reduction", "reduction"]
// CHECK: arith.maxsi
// CHECK: ["reduction"]} ins(%{{.*}} : tensor<512xi32>) outs(%{{.*}} : tensor<i32>)
// CHECK: arith.maxsi
func.func public @all(%x: tensor<1024x4096xi32>) -> tensor<i32> {
  %low = arith.constant -5 : i32
  %e = tensor.empty() : tensor<i32>
  %start = linalg.fill ins(%low : i32) outs(%e : tensor<i32>) -> tensor<i32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
    ins(%x : tensor<1024x4096xi32>) outs(%start : tensor<i32>) {
  ^bb0(%a: i32, %acc: i32):
    %t = arith.maxsi %a, %acc : i32
    linalg.yield %t : i32
  } -> tensor<i32>
  func.return %s : tensor<i32>
}

// -----

// Rows enough for all blocks, columns of a few numbers, columns that nothing divides, and products stay whole.
// CHECK-NOT: tensor.expand_shape
// CHECK-NOT: lamina.alone
func.func public @whole(%x: tensor<300x4096xf32>, %y: tensor<200x4096xf32>, %z: tensor<4099x64xf32>, %w: tensor<4096x64xf32>) -> (tensor<300xf32>, tensor<4096xf32>, tensor<64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<300xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<300xf32>) -> tensor<300xf32>
  %r0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<300x4096xf32>) outs(%s0 : tensor<300xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = arith.addf %acc, %a : f32
    linalg.yield %t : f32
  } -> tensor<300xf32>
  %e1 = tensor.empty() : tensor<4096xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4096xf32>) -> tensor<4096xf32>
  %r1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<200x4096xf32>) outs(%s1 : tensor<4096xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = arith.addf %acc, %a : f32
    linalg.yield %t : f32
  } -> tensor<4096xf32>
  %e2 = tensor.empty() : tensor<64xf32>
  %s2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64xf32>) -> tensor<64xf32>
  %r2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%z : tensor<4099x64xf32>) outs(%s2 : tensor<64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %t = arith.addf %acc, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %e3 = tensor.empty() : tensor<64x64xf32>
  %s3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r3 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %w : tensor<4096x64xf32>, tensor<4096x64xf32>) outs(%s3 : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %q = arith.mulf %a, %b : f32
    %t = arith.addf %acc, %q : f32
    linalg.yield %t : f32
  } -> tensor<64x64xf32>
  func.return %r0, %r1, %r2, %r3 : tensor<300xf32>, tensor<4096xf32>, tensor<64xf32>, tensor<64x64xf32>
}

// -----

// What goes on with the columns themselves shares what is read with their sums.
// CHECK-NOT: lamina.alone
func.func public @again(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%s : tensor<512xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %q = arith.addf %acc, %a : f32
    linalg.yield %q : f32
  } -> tensor<512xf32>
  %o = tensor.empty() : tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %t : tensor<512x512xf32>, tensor<512xf32>) outs(%o : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<512x512xf32>
  func.return %r : tensor<512x512xf32>
}
