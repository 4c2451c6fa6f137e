// RUN: lamina-opt %s --split-input-file -p gpu-join-pads | filecheck %s

func.func public @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<6xf32>) {
  %0 = tensor.empty() : tensor<6xf32>
  %p = func.call @pad(%x, %0) : (tensor<4xf32>, tensor<6xf32>) -> tensor<6xf32>
  %1 = tensor.empty() : tensor<4xf32>
  %y = func.call @pool(%p, %1) : (tensor<6xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = tensor.empty() : tensor<6xf32>
  %q = func.call @pad(%y, %2) : (tensor<4xf32>, tensor<6xf32>) -> tensor<6xf32>
  %3 = tensor.empty() : tensor<4xf32>
  %z = func.call @pool(%q, %3) : (tensor<6xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = tensor.empty() : tensor<6xf32>
  %r = func.call @pad(%z, %4) : (tensor<4xf32>, tensor<6xf32>) -> tensor<6xf32>
  %5 = tensor.empty() : tensor<6xf32>
  %s = func.call @double(%r, %5) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return %z, %s : tensor<4xf32>, tensor<6xf32>
}
// Once for both calls; who reads no windows keeps its pad.
// CHECK-LABEL: func.func public @main(
// CHECK-NEXT: [[TO:%.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: [[Y:%.*]] = func.call @pad_pool(%x, [[TO]]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: [[Z:%.*]] = func.call @pad_pool([[Y]],
// CHECK: [[R:%.*]] = func.call @pad([[Z]],
// CHECK: func.call @double([[R]],

// CHECK-LABEL: func.func private @pad(
func.func private @pad(%x: tensor<4xf32>, %to: tensor<6xf32>) -> tensor<6xf32> attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<6xf32>
  func.return %p : tensor<6xf32>
}
// CHECK-NOT: @pool
// CHECK: func.func private @pad_pool(%x: tensor<4xf32>, %to: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"}
// CHECK: [[P:%.*]] = tensor.pad %x
// CHECK: linalg.generic {{.*}} ins([[P]], %{{.*}} : tensor<6xf32>
func.func private @pool(%x: tensor<6xf32>, %to: tensor<4xf32>) -> tensor<4xf32> attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%to : tensor<4xf32>) -> tensor<4xf32>
  %w = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x, %w : tensor<6xf32>, tensor<3xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.maximumf %c, %a : f32
    linalg.yield %m : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @double(%x: tensor<6xf32>, %to: tensor<6xf32>) -> tensor<6xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<6xf32>) outs(%to : tensor<6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.addf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  func.return %y : tensor<6xf32>
}

// -----

// A product that reads windows of 16-bit numbers, by eights, leaves out what is beyond the image; of pairs it does not.
// CHECK-LABEL: func.func public @products(
// CHECK: func.call @zeros_convolution(%x, %w,
// CHECK: [[Q:%.*]] = func.call @narrow_zeros(
// CHECK: func.call @narrow([[Q]],
func.func public @products(%x: tensor<1x9x16xbf16>, %w: tensor<3x16x8xbf16>, %z: tensor<1x9x2xbf16>, %v: tensor<3x2x8xbf16>) -> (tensor<1x9x8xf32>, tensor<1x9x8xf32>) {
  %0 = tensor.empty() : tensor<1x11x16xbf16>
  %p = func.call @zeros(%x, %0) : (tensor<1x9x16xbf16>, tensor<1x11x16xbf16>) -> tensor<1x11x16xbf16>
  %1 = tensor.empty() : tensor<1x9x8xf32>
  %y = func.call @convolution(%p, %w, %1) : (tensor<1x11x16xbf16>, tensor<3x16x8xbf16>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %2 = tensor.empty() : tensor<1x11x2xbf16>
  %q = func.call @narrow_zeros(%z, %2) : (tensor<1x9x2xbf16>, tensor<1x11x2xbf16>) -> tensor<1x11x2xbf16>
  %3 = tensor.empty() : tensor<1x9x8xf32>
  %r = func.call @narrow(%q, %v, %3) : (tensor<1x11x2xbf16>, tensor<3x2x8xbf16>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  func.return %y, %r : tensor<1x9x8xf32>, tensor<1x9x8xf32>
}
func.func private @zeros(%x: tensor<1x9x16xbf16>, %to: tensor<1x11x16xbf16>) -> tensor<1x11x16xbf16> attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : bf16
  %p = tensor.pad %x low[0, 1, 0] high[0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : bf16
  } : tensor<1x9x16xbf16> to tensor<1x11x16xbf16>
  func.return %p : tensor<1x11x16xbf16>
}
func.func private @narrow_zeros(%x: tensor<1x9x2xbf16>, %to: tensor<1x11x2xbf16>) -> tensor<1x11x2xbf16> attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : bf16
  %p = tensor.pad %x low[0, 1, 0] high[0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : bf16
  } : tensor<1x9x2xbf16> to tensor<1x11x2xbf16>
  func.return %p : tensor<1x11x2xbf16>
}
func.func private @convolution(%x: tensor<1x11x16xbf16>, %w: tensor<3x16x8xbf16>, %to: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%to : tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, o, i, c) -> (b, h + i, c)>, affine_map<(b, h, o, i, c) -> (i, c, o)>, affine_map<(b, h, o, i, c) -> (b, h, o)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
    ins(%x, %w : tensor<1x11x16xbf16>, tensor<3x16x8xbf16>) outs(%f : tensor<1x9x8xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %l = arith.extf %a : bf16 to f32
    %r = arith.extf %b : bf16 to f32
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x9x8xf32>
  func.return %y : tensor<1x9x8xf32>
}
func.func private @narrow(%x: tensor<1x11x2xbf16>, %w: tensor<3x2x8xbf16>, %to: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%to : tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, o, i, c) -> (b, h + i, c)>, affine_map<(b, h, o, i, c) -> (i, c, o)>, affine_map<(b, h, o, i, c) -> (b, h, o)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
    ins(%x, %w : tensor<1x11x2xbf16>, tensor<3x2x8xbf16>) outs(%f : tensor<1x9x8xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %l = arith.extf %a : bf16 to f32
    %r = arith.extf %b : bf16 to f32
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x9x8xf32>
  func.return %y : tensor<1x9x8xf32>
}
