// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: systolic.program @main for "tiny4" {
systolic.program @main for "tiny4" {
  // CHECK-NEXT: systolic.cfg 1 stride(s0=4 s1=16 d1=8)
  systolic.cfg 1 stride(s0=4 s1=16 d1=8)
  // CHECK-NEXT: systolic.cfg 2 window(x_lo=4 x_hi=20 y_lo=0 y_hi=3 value=-3)
  systolic.cfg 2 window(x_lo=4 x_hi=20 y_lo=0 y_hi=3 value=-3)
  // CHECK-NEXT: systolic.cfg 3 gen(t0=1 t1=6 k0=3 k1=3)
  systolic.cfg 3 gen(s0=1 t0=1 t1=6 k0=3 k1=3)
  // CHECK-NEXT: systolic.cfg 4 out(bt=1)
  systolic.cfg 4 out(bt=1)
  // CHECK-NEXT: systolic.cfg 5 post(zero=3 lo=-4 offset=0x3f800000)
  systolic.cfg 5 post(zero=3 lo=-4 offset=0x3f800000)
  // CHECK-NEXT: systolic.cfg 6 scale(ra=0x3f800000 rb=0x0)
  systolic.cfg 6 scale(ra=0x3f800000 rb=0)
  // CHECK-NEXT: systolic.cfg 7 raw(0xff)
  systolic.cfg 7 raw(255)
  // CHECK-NEXT: systolic.cfg 3 gen raw(0x0)
  systolic.cfg 3 gen raw(0)
  // CHECK-NEXT: systolic.ar reg=3 delta=-4 modulus=16
  systolic.ar modulus=16 reg=3 delta=-4
  // CHECK-NEXT: systolic.ar reg=4 set delta=7
  systolic.ar reg=4 set delta=7
  // CHECK-NEXT: systolic.loop count=3
  systolic.loop count=3
  // CHECK-NEXT: systolic.ld to=spm dst=0x10+r3 src=0x100 n0=4 n1=2 len=4 stride=1 window=2 signal(0)
  systolic.ld signal(0) to=spm dst=0x10+r3 src=256 n0=4 n1=2 len=4 stride=1 window=2
  // CHECK-NEXT: systolic.wl src=0x20 rows=3 wait(0)
  systolic.wl src=0x20 rows=3 wait(0)
  // CHECK-NEXT: systolic.mm a=0x10 acc=0x0+r2 n0=4 accumulate swap wait(0, 3) signal(1, 2)
  systolic.mm a=0x10 acc=0x0+r2 n0=4 accumulate swap wait(0, 3) signal(1, 2)
  // CHECK-NEXT: systolic.ve kind=mac dst=0x5 a=0x0 b=0x40+r4 n0=2 gen=3 out=4
  systolic.ve kind=mac dst=5 a=0 b=64+r4 n0=2 gen=3 out=4
  // CHECK-NEXT: systolic.ve kind=add dst=0x5 a=0x0 n0=2 gen=3 out=4 post=5 scale=6
  systolic.ve kind=add dst=5 a=0 n0=2 gen=3 out=4 post=5 scale=6
  // CHECK-NEXT: systolic.st source=acc src=0x0+r2 to=dram dst=0x40+r4 n0=4 len=4 stride=1 post=5 table_r=4 wait(1)
  systolic.st source=acc src=0+r2 to=dram dst=64+r4 n0=4 len=4 stride=1 post=5 table_r=4 wait(1)
  // CHECK-NEXT: systolic.end
  systolic.end
  // CHECK-NEXT: systolic.sync unit=st mark tag=7 wait(2)
  systolic.sync unit=st mark tag=7 wait(2)
  // CHECK-NEXT: systolic.bar
  systolic.bar
  // CHECK-NEXT: systolic.trap code=3
  systolic.trap code=3
  // CHECK-NEXT: systolic.halt
  systolic.halt
}
