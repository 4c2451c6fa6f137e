// RUN: lamina-opt %s --split-input-file --verify-diagnostics

systolic.program @missing for "tiny4" {
  systolic.mm a=0x10 acc=0 // expected-error {{'n0' of mm is missing}}
  systolic.halt
}

// -----

systolic.program @much for "tiny4" {
  systolic.mm a=0x10000 acc=0 n0=1 // expected-error {{'a' of mm is 65536, not from 0 to 65535}}
  systolic.halt
}

// -----

systolic.program @twice for "tiny4" {
  systolic.mm a=0 a=1 acc=0 n0=1 // expected-error {{'a' is told twice}}
  systolic.halt
}

// -----

systolic.program @layout for "tiny4" {
  systolic.cfg 1 strike(s0=1) // expected-error {{'strike' is no layout; one of raw, stride, window, gen, out, post, scale}}
  systolic.halt
}

// -----

// expected-error @below {{'rows' of wl is 5 (4 is the most here)}}
systolic.program @rows for "tiny4" {
  systolic.wl src=0 rows=5
  systolic.halt
}

// -----

// expected-error @below {{row 0x100 of 'acc' is outside of 'acc' (it has 256 rows)}}
systolic.program @outside for "tiny4" {
  systolic.mm a=0 acc=0x100 n0=1
  systolic.halt
}

// -----

// expected-error @below {{1 loops have no end}}
systolic.program @loop for "tiny4" {
  systolic.loop count=2
  systolic.halt
}

// -----

// expected-error @below {{the program does not end with halt}}
systolic.program @halt for "tiny4" {
  systolic.bar
}

// -----

// expected-error @below {{unknown systolic machine 'tiny5'}}
systolic.program @machine for "tiny5" {
  systolic.halt
}

// -----

systolic.program @order for "tiny4" {
  // expected-error @below {{wait1 of wl is 2, wait0 3 (two semaphores are told in rising order}}
  systolic.wl src=0 rows=4 wait(3, 2)
  systolic.halt
}

// -----

systolic.program @padding for "tiny4" {
  // expected-error @below {{only what goes to the scratchpad can be padded}}
  systolic.ld to=acc dst=0 src=0 n0=1 len=4 stride=1 window=2
  systolic.halt
}
