// RUN: lamina-opt %s -p convert-contraction-to-cta | filecheck %s
// RUN: lamina-opt %s -p convert-contraction-to-cta{unit=mma} | filecheck %s --check-prefix WARPS

// One program; operands are views of buffers, what follows the product is in it.
// CHECK-LABEL: func.func private @product
// CHECK-NEXT: cta.program {sizes = array<i64: 1, 64, 64>, tile = array<i64: 1, 32, 32>, schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 16 : i64
// CHECK: ^bb0(%matrix: index, %row: index, %column: index):
// CHECK-NEXT: cta.view %a : memref<64x32xf32> to !cta.view<f32, (1,64,32):(0,32,1)>
// CHECK-NEXT: cta.view %{{.*}} : memref<32x64xf32> to !cta.view<f32, (1,32,64):(0,64,1)>
// CHECK: affine.for %k = 0 to 32 step 16 iter_args
// CHECK-NEXT: cta.load %{{.*}}[%matrix, %row, %k] {{.*}} to tensor<32x16xf32>
// CHECK-NEXT: cta.load %{{.*}}[%matrix, %k, %column] {{.*}} to tensor<16x32xf32>
// CHECK-NEXT: cta.dot
// CHECK: cta.view %bias : memref<64xf32> to !cta.view<f32, (1,64,64):(0,0,1)>
// CHECK: cta.map
// CHECK: arith.maximumf
// CHECK: cta.store
// WARPS: schedule = {unit = "mma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 2 : i64, across = 1 : i64, stages = 3 : i64}
// WARPS: cta.dot {{.*}} {precision = "tf32"}
func.func private @product(%a: memref<64x32xf32>, %b: memref<32x64xf32>, %bias: memref<64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x32xf32>, memref<32x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%bias : memref<64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %s = arith.addf %old, %x : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }
  func.return
}

// A convolution is a product whose left matrix has windows for rows.
// CHECK-LABEL: func.func private @convolution
// CHECK: cta.view %x : memref<1x12x12x16xf32> to !cta.view<f32, (1,(10,10),(48,3)):(0,(16,192),(1,192))>
// CHECK: cta.view %w : memref<3x3x16x32xf32> to !cta.view<f32, (1,144,32):(0,32,1)>
// CHECK: cta.view %y : memref<1x10x10x32xf32> to !cta.view<f32, (1,100,32):(0,32,1)>
func.func private @convolution(%x: memref<1x12x12x16xf32>, %w: memref<3x3x16x32xf32>, %y: memref<1x10x10x32xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x10x10x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h + i, w + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : memref<1x12x12x16xf32>, memref<3x3x16x32xf32>) outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Windows of what is padded reach beyond the image itself: nothing is left of the pad.
// CHECK-LABEL: func.func private @padded
// CHECK-NEXT: cta.program
// CHECK: cta.view %x : memref<1x10x9x16xf32> to !cta.view<f32, (1,(9,5),(48,3)):(0,(16,288),(1,144)) from -16, #cta.border<(1,(9,5),(48,3)):(0,(0,2),(0,1)) from 0 below 10>, #cta.border<(1,(9,5),(16,3,3)):(0,(1,0),(0,1,0)) from -1 below 9>>
// CHECK: cta.view %w : memref<3x3x16x32xf32>
// CHECK-NOT: linalg
// CHECK: func.return
func.func private @padded(%x: memref<1x10x9x16xf32>, %w: memref<3x3x16x32xf32>, %y: memref<1x5x9x32xf32>, %s: memref<1x11x11x16xf32>) attributes {lamina.kernel = "contraction", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %below = memref.subview %s[0, 10, 0, 0] [1, 1, 11, 16] [1, 1, 1, 1] : memref<1x11x11x16xf32> to memref<1x1x11x16xf32, strided<[1936, 176, 16, 1], offset: 1760>>
  linalg.fill ins(%zero : f32) outs(%below : memref<1x1x11x16xf32, strided<[1936, 176, 16, 1], offset: 1760>>)
  %left = memref.subview %s[0, 0, 0, 0] [1, 10, 1, 16] [1, 1, 1, 1] : memref<1x11x11x16xf32> to memref<1x10x1x16xf32, strided<[1936, 176, 16, 1]>>
  linalg.fill ins(%zero : f32) outs(%left : memref<1x10x1x16xf32, strided<[1936, 176, 16, 1]>>)
  %right = memref.subview %s[0, 0, 10, 0] [1, 10, 1, 16] [1, 1, 1, 1] : memref<1x11x11x16xf32> to memref<1x10x1x16xf32, strided<[1936, 176, 16, 1], offset: 160>>
  linalg.fill ins(%zero : f32) outs(%right : memref<1x10x1x16xf32, strided<[1936, 176, 16, 1], offset: 160>>)
  %inside = memref.subview %s[0, 0, 1, 0] [1, 10, 9, 16] [1, 1, 1, 1] : memref<1x11x11x16xf32> to memref<1x10x9x16xf32, strided<[1936, 176, 16, 1], offset: 16>>
  linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x : memref<1x10x9x16xf32>) outs(%inside : memref<1x10x9x16xf32, strided<[1936, 176, 16, 1], offset: 16>>) {
  ^bb0(%l: f32, %old: f32):
    linalg.yield %l : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<1x5x9x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h * 2 + i, w + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%s, %w : memref<1x11x11x16xf32>, memref<3x3x16x32xf32>) outs(%y : memref<1x5x9x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %acc, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// What is padded and read again behind the product keeps its pad.
// CHECK-LABEL: func.func private @read_again
// CHECK-NOT: cta.program
// CHECK: func.return
func.func private @read_again(%x: memref<8x16xf32>, %w: memref<16x16xf32>, %y: memref<9x16xf32>, %s: memref<9x16xf32>) attributes {lamina.kernel = "contraction", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %above = memref.subview %s[0, 0] [1, 16] [1, 1] : memref<9x16xf32> to memref<1x16xf32, strided<[16, 1]>>
  linalg.fill ins(%zero : f32) outs(%above : memref<1x16xf32, strided<[16, 1]>>)
  %below = memref.subview %s[1, 0] [8, 16] [1, 1] : memref<9x16xf32> to memref<8x16xf32, strided<[16, 1], offset: 16>>
  linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<8x16xf32>) outs(%below : memref<8x16xf32, strided<[16, 1], offset: 16>>) {
  ^bb0(%l: f32, %old: f32):
    linalg.yield %l : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<9x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%s, %w : memref<9x16xf32>, memref<16x16xf32>) outs(%y : memref<9x16xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %acc, %p : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%s : memref<9x16xf32>) outs(%y : memref<9x16xf32>) {
  ^bb0(%l: f32, %old: f32):
    %t = arith.addf %old, %l : f32
    linalg.yield %t : f32
  }
  func.return
}

// A product of integers stays.
// CHECK-LABEL: func.func private @integers
// CHECK: linalg.generic
func.func private @integers(%a: memref<8x16xi32>, %b: memref<16x9xi32>, %c: memref<8x9xi32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<8x9xi32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<8x16xi32>, memref<16x9xi32>) outs(%c : memref<8x9xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %p = arith.muli %x, %y : i32
    %s = arith.addi %acc, %p : i32
    linalg.yield %s : i32
  }
  func.return
}

// The schedule that a kernel has is taken.
// CHECK-LABEL: func.func private @given
// CHECK: tile = array<i64: 1, 64, 64>, schedule = {unit = "fma", rows = 64 : i64, columns = 64 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 1 : i64}
func.func private @given(%a: memref<64x32xf32>, %b: memref<32x64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction", cta.schedule = {unit = "fma", rows = 64 : i64, columns = 64 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 1 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x32xf32>, memref<32x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Windows of three channels come by elements of 16 bits: tiles are smaller, that places fit into registers.
// WARPS-LABEL: func.func private @three
// WARPS-NEXT: cta.program {sizes = array<i64: 1, 12100, 96>, tile = array<i64: 1, 64, 64>, schedule = {unit = "mma", rows = 64 : i64
// WARPS-LABEL: func.func private @four
// WARPS-NEXT: cta.program {sizes = array<i64: 1, 12100, 96>, tile = array<i64: 1, 128, 128>, schedule = {unit = "mma", rows = 128 : i64
func.func private @three(%x: memref<1x224x224x3xbf16>, %w: memref<5x5x3x96xbf16>, %y: memref<1x110x110x96xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x110x110x96xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h * 2 + i, w * 2 + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : memref<1x224x224x3xbf16>, memref<5x5x3x96xbf16>) outs(%y : memref<1x110x110x96xf32>) {
  ^bb0(%l: bf16, %r: bf16, %acc: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @four(%x: memref<1x224x224x4xbf16>, %w: memref<5x5x4x96xbf16>, %y: memref<1x110x110x96xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x110x110x96xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h * 2 + i, w * 2 + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : memref<1x224x224x4xbf16>, memref<5x5x4x96xbf16>) outs(%y : memref<1x110x110x96xf32>) {
  ^bb0(%l: bf16, %r: bf16, %acc: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Of a part of a matrix: what is seen of it begins inside, as does what follows the product.
// CHECK-LABEL: func.func private @part
// CHECK: cta.view %a : memref<2x70x32xf32> to !cta.view<f32, (1,(64,2),32):(0,(32,2240),1) from 192>
// CHECK: cta.view %{{.*}} : memref<32x80xf32> to !cta.view<f32, (1,32,64):(0,80,1) from 16>
// CHECK: cta.view %bias : memref<70xf32> to !cta.view<f32, (1,128,64):(0,0,1) from 4>
func.func private @part(%a: memref<2x70x32xf32>, %b: memref<32x80xf32>, %bias: memref<70xf32>, %c: memref<2x64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<2x64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(h, i, j, k) -> (h, i + 6, k)>, affine_map<(h, i, j, k) -> (k, j + 16)>, affine_map<(h, i, j, k) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<2x70x32xf32>, memref<32x80xf32>) outs(%c : memref<2x64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (j + 4)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%bias : memref<70xf32>) outs(%c : memref<2x64x64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %s = arith.addf %old, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
