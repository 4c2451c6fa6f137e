// RUN: lamina-opt %s -p convert-affine-to-gpu | filecheck %s

// Numbers that lie next to each other are combined by some threads, eight each: the innermost loop is that along memory.
func.func private @warps(%x: memref<8x33x16xf32>, %y: memref<33xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%j) = (0) to (33) {
    %s = affine.for %k = 0 to 16 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %i = 0 to 8 iter_args(%c = %a) -> (f32) {
        %v = affine.load %x[%i, %j, %k] : memref<8x33x16xf32>
        %d = arith.addf %c, %v : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%j] : memref<33xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @warps(
// CHECK: gpu.launch_func @warps_0({{.*}}) {blocks = array<i64: 5, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK: func.func private @warps_0(
// CHECK: [[LANE:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 16))>
// CHECK: [[POINT:%.*]] = affine.min affine_map<(d0) -> (d0, 32)>
// CHECK: affine.for {{.*}} = 0 to 8
// CHECK: [[I:%.*]] = affine.apply affine_map<(d0) -> ((d0 floordiv 16))>
// CHECK: [[K:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 16))>
// CHECK: affine.load {{.*}}{{\[}}[[I]], {{.*}}, [[K]]]
// CHECK: gpu.subgroup_reduce add {{.*}} cluster(size = 16) : f32
// CHECK: affine.if affine_set<(d0, d1) : (d1 == 0, ((d0 * -1) + 32) >= 0)>

// Windows that overlap, and what neighbouring points read next to each other, are for one thread each.
func.func private @windows(%x: memref<40xf32>, %y: memref<33xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%j) = (0) to (33) {
    %s = affine.for %k = 0 to 8 iter_args(%a = %zero) -> (f32) {
      %v = affine.load %x[%j + %k] : memref<40xf32>
      %d = arith.addf %a, %v : f32
      affine.yield %d : f32
    }
    affine.store %s, %y[%j] : memref<33xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @windows(
// CHECK: threads = array<i64: 64, 1, 1>
// CHECK-NOT: subgroup_reduce

// What is no sum of numbers, here a recurrence, keeps its order.
// CHECK-LABEL: func.func private @recurrence(
func.func private @recurrence(%x: memref<33x64xf32>, %y: memref<33xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%j) = (0) to (33) {
    %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> (f32) {
      %v = affine.load %x[%j, %k] : memref<33x64xf32>
      %m = arith.mulf %a, %v : f32
      %d = arith.addf %m, %v : f32
      affine.yield %d : f32
    }
    affine.store %s, %y[%j] : memref<33xf32>
  }
  func.return
}
// CHECK-NOT: subgroup_reduce

// All of a buffer: one team.
// CHECK-LABEL: func.func private @whole(
func.func private @whole(%x: memref<8192xf32>, %y: memref<f32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %k = 0 to 8192 iter_args(%a = %zero) -> (f32) {
    %v = affine.load %x[%k] : memref<8192xf32>
    %d = arith.maximumf %a, %v : f32
    affine.yield %d : f32
  }
  affine.store %s, %y[] : memref<f32>
  func.return
}
// CHECK: threads = array<i64: 1024, 1, 1>
// CHECK: gpu.all_reduce maximumf

// Where the greatest number is: places are combined like numbers, and may be widened afterwards.
// CHECK-LABEL: func.func private @places(
// CHECK: gpu.launch_func @places_0({{.*}}) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 1024, 1, 1>}
// CHECK: gpu.all_reduce minsi {{.*}} : i32
func.func private @places(%x: memref<50257xf32>, %most: memref<1xf32>, %y: memref<1xi64>) attributes {lamina.kernel = "loops"} {
  %nowhere = arith.constant 2147483647 : i32
  %m = affine.load %most[0] : memref<1xf32>
  %p = affine.for %i = 0 to 50257 iter_args(%a = %nowhere) -> (i32) {
    %v = affine.load %x[%i] : memref<50257xf32>
    %there = arith.cmpf oeq, %v, %m : f32
    %n = arith.index_cast %i : index to i32
    %here = arith.select %there, %n, %nowhere : i32
    %d = arith.minsi %a, %here : i32
    affine.yield %d : i32
  }
  %wide = arith.extsi %p : i32 to i64
  affine.store %wide, %y[0] : memref<1xi64>
  func.return
}
