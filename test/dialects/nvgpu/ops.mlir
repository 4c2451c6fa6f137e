// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @copies
// CHECK: nvgpu.device_async_copy %x[%i] to %s[%i], %n {bytes = 16 : i64} : memref<64xbf16> to memref<128xi8, 3 : i32>
// CHECK: nvgpu.device_async_copy %x[%i] to %s[%i] {bytes = 4 : i64}
// CHECK: nvgpu.device_async_create_group
// CHECK: nvgpu.device_async_wait {groups = 1 : i64}
// CHECK: nvgpu.ldmatrix %s[%i] {transpose} : memref<128xi8, 3 : i32> -> vector<4xi32>
// CHECK: nvgpu.mma.sync %{{.*}}, %b, %c {kind = "bf16"} : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
func.func @copies(%x: memref<64xbf16>, %s: memref<128xi8, 3 : i32>, %i: index, %n: i32, %b: vector<2xi32>, %c: vector<4xf32>) {
  nvgpu.device_async_copy %x[%i] to %s[%i], %n {bytes = 16 : i64} : memref<64xbf16> to memref<128xi8, 3 : i32>
  nvgpu.device_async_copy %x[%i] to %s[%i] {bytes = 4 : i64} : memref<64xbf16> to memref<128xi8, 3 : i32>
  nvgpu.device_async_create_group
  nvgpu.device_async_wait {groups = 1 : i64}
  %a = nvgpu.ldmatrix %s[%i] {transpose} : memref<128xi8, 3 : i32> -> vector<4xi32>
  %r = nvgpu.round_tf32 %a : vector<4xi32>
  %d = nvgpu.mma.sync %r, %b, %c {kind = "bf16"} : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  func.return
}

// CHECK-LABEL: func.func @warpgroups
// CHECK: nvgpu.tma.create.descriptor %x {sizes = array<i64: 8, 64>, strides = array<i64: 64, 1>} : memref<512xbf16> to !nvgpu.tensormap<8x64xbf16, 128>
// CHECK: nvgpu.mbarrier.init %b[%i] {count = 2 : i64}
// CHECK: nvgpu.fence.mbarrier.init
// CHECK: nvgpu.mbarrier.arrive.expect_tx %b[%i] {bytes = 1024 : i64}
// CHECK: nvgpu.tma.async.load %{{.*}}[%i, %i] to %s[%i], %b[%i] : !nvgpu.tensormap<8x64xbf16, 128> to memref<1024xi8, 3 : i32>, memref<2xi64, 3 : i32>
// CHECK: nvgpu.mbarrier.try_wait.parity %b[%i], %i : memref<2xi64, 3 : i32>
// CHECK: nvgpu.warpgroup.mma %s[%i, %i], %{{.*}} {kind = "f16", offsets = array<i64: 0, 32>, leading = array<i64: 16, 16>, turned = array<i1: false, true>}
// CHECK: nvgpu.warpgroup.mma %s[%i, %i] {kind = "f16", {{.*}}} : memref<1024xi8, 3 : i32>, () -> vector<4xf32>
// CHECK: nvgpu.warpgroup.fence %{{.*}}, %a : (vector<4xf32>, vector<4xi32>) -> (vector<4xf32>, vector<4xi32>)
// CHECK: nvgpu.warpgroup.mma.registers %{{.*}}, %s[%i], %{{.*}} {kind = "f16", offset = 32 : i64, leading = 16 : i64, turned} : memref<1024xi8, 3 : i32>, (vector<4xf32>) -> vector<4xf32>
// CHECK: nvgpu.warpgroup.mma.registers %{{.*}}, %s[%i] {kind = "f16", offset = 32 : i64, leading = 16 : i64} : memref<1024xi8, 3 : i32>, () -> vector<4xf32>
// CHECK: nvgpu.device_async_arrive %b[%i] : memref<2xi64, 3 : i32>
// CHECK: nvgpu.fence.proxy.async
// CHECK: nvgpu.barrier.sync %i {threads = 256 : i64}
// CHECK: nvgpu.barrier.arrive %i {threads = 256 : i64}
func.func @warpgroups(%x: memref<512xbf16>, %s: memref<1024xi8, 3 : i32>, %b: memref<2xi64, 3 : i32>, %i: index, %c: vector<4xf32>, %a: vector<4xi32>) {
  %t = nvgpu.tma.create.descriptor %x {sizes = array<i64: 8, 64>, strides = array<i64: 64, 1>} : memref<512xbf16> to !nvgpu.tensormap<8x64xbf16, 128>
  nvgpu.mbarrier.init %b[%i] {count = 2 : i64} : memref<2xi64, 3 : i32>
  nvgpu.fence.mbarrier.init
  nvgpu.set_max_registers {count = 232 : i64, more}
  nvgpu.mbarrier.arrive.expect_tx %b[%i] {bytes = 1024 : i64} : memref<2xi64, 3 : i32>
  nvgpu.tma.async.load %t[%i, %i] to %s[%i], %b[%i] : !nvgpu.tensormap<8x64xbf16, 128> to memref<1024xi8, 3 : i32>, memref<2xi64, 3 : i32>
  %o = nvgpu.mbarrier.try_wait.parity %b[%i], %i : memref<2xi64, 3 : i32>
  %f = nvgpu.warpgroup.fence %c : (vector<4xf32>) -> vector<4xf32>
  %d = nvgpu.warpgroup.mma %s[%i, %i], %f {kind = "f16", offsets = array<i64: 0, 32>, leading = array<i64: 16, 16>, turned = array<i1: false, true>} : memref<1024xi8, 3 : i32>, (vector<4xf32>) -> vector<4xf32>
  nvgpu.warpgroup.commit
  %e = nvgpu.warpgroup.wait %d {groups = 0 : i64} : (vector<4xf32>) -> vector<4xf32>
  nvgpu.mbarrier.arrive %b[%i] : memref<2xi64, 3 : i32>
  %n = nvgpu.warpgroup.mma %s[%i, %i] {kind = "f16", offsets = array<i64: 0, 32>, leading = array<i64: 16, 16>, turned = array<i1: false, true>} : memref<1024xi8, 3 : i32>, () -> vector<4xf32>
  %g, %w = nvgpu.warpgroup.fence %n, %a : (vector<4xf32>, vector<4xi32>) -> (vector<4xf32>, vector<4xi32>)
  %h = nvgpu.warpgroup.mma.registers %w, %s[%i], %g {kind = "f16", offset = 32 : i64, leading = 16 : i64, turned} : memref<1024xi8, 3 : i32>, (vector<4xf32>) -> vector<4xf32>
  %j = nvgpu.warpgroup.mma.registers %w, %s[%i] {kind = "f16", offset = 32 : i64, leading = 16 : i64} : memref<1024xi8, 3 : i32>, () -> vector<4xf32>
  nvgpu.device_async_arrive %b[%i] : memref<2xi64, 3 : i32>
  nvgpu.fence.proxy.async
  nvgpu.barrier.sync %i {threads = 256 : i64}
  nvgpu.barrier.arrive %i {threads = 256 : i64}
  func.return
}

// CHECK-LABEL: func.func @numbers
// CHECK: nvgpu.round_pair %x : vector<2xf32> to vector<2xbf16>
// CHECK: nvgpu.exp2 %y : f32
func.func @numbers(%x: vector<2xf32>, %y: f32) {
  %r = nvgpu.round_pair %x : vector<2xf32> to vector<2xbf16>
  %e = nvgpu.exp2 %y : f32
  func.return
}
