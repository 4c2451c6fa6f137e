// RUN: lamina-opt %s -p gpu-schedule-contractions | filecheck %s
// RUN: lamina-opt %s -p gpu-schedule-contractions --machine sm_80 | filecheck %s --check-prefix WARPS
// RUN: lamina-opt %s -p gpu-schedule-contractions --machine sm_90a | filecheck %s --check-prefix GROUPS
// RUN: lamina-opt %s -p gpu-schedule-contractions,convert-contraction-to-cta | filecheck %s --check-prefix TILES

// What it computes by name, and how.
// CHECK-LABEL: func.func private @halves
// CHECK-SAME: lamina.problem = "matmul bf16,bf16,f32 m64 n64 k32", cta.schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 1 : i64}
// WARPS: @halves{{.*}} cta.schedule = {unit = "mma", rows = 32 : i64, columns = 32 : i64, depth = 64 : i64, down = 2 : i64, across = 1 : i64, stages = 3 : i64}
// GROUPS: @halves{{.*}} cta.schedule = {unit = "wgmma", rows = 64 : i64, columns = 64 : i64, depth = 64 : i64, down = 1 : i64, across = 1 : i64, stages = 4 : i64}
// TILES: cta.program {{.*}} schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64
func.func private @halves(%a: memref<64x32xbf16>, %b: memref<32x64xbf16>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x32xbf16>, memref<32x64xbf16>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// A schedule that is there stays, and is what the program gets.
// CHECK-LABEL: func.func private @given
// CHECK-SAME: cta.schedule = {unit = "fma", rows = 16 : i64
// CHECK-SAME: lamina.problem = "matmul f32 m64 n64 k32 a=k0,m0"
// TILES: cta.program {{.*}} schedule = {unit = "fma", rows = 16 : i64
func.func private @given(%a: memref<32x64xf32>, %b: memref<32x64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction", cta.schedule = {unit = "fma", rows = 16 : i64, columns = 32 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 1 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<32x64xf32>, memref<32x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// No product: neither name nor schedule.
// CHECK-LABEL: func.func private @sum
// CHECK-NOT: lamina.problem
// CHECK: linalg.generic
func.func private @sum(%a: memref<64x32xf32>, %c: memref<64xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<64x32xf32>) outs(%c : memref<64xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
