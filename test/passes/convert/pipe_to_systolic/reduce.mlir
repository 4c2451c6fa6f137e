// RUN: lamina-opt %s -p 'convert-pipe-to-systolic' | filecheck %s

// Of two loads the later is waited for, and what was waited for is not waited for again.
pipe.stream @k for "tiny4" {
  systolic.cfg 0 stride(s0=4 d1=0)
  %0 = pipe.ld to=spm dst=0x0 src=0x0+r1 n0=4 len=4 stride=0
  %1 = pipe.ld to=spm dst=0x4 src=0x10+r1 n0=4 len=4 stride=0
  %2 = pipe.wl after(%1, %0) src=0x4 rows=4
  %3 = pipe.mm after(%0) a=0x0 acc=0x0 n0=4 swap
  %4 = pipe.wl after(%0) src=0x0 rows=4
}
// CHECK:      systolic.program @k for "tiny4" {
// CHECK-NEXT:   systolic.cfg 0 stride(s0=4 d1=0)
// CHECK-NEXT:   systolic.ld to=spm dst=0x0 src=0x0+r1 n0=4 len=4 stride=0 signal(1)
// CHECK-NEXT:   systolic.ld to=spm dst=0x4 src=0x10+r1 n0=4 len=4 stride=0 signal(0)
// CHECK-NEXT:   systolic.wl src=0x4 rows=4 wait(0)
// CHECK-NEXT:   systolic.mm a=0x0 acc=0x0 n0=4 swap wait(1)
// CHECK-NEXT:   systolic.wl src=0x0 rows=4
// CHECK-NEXT:   systolic.halt
