; The fork-join thread pool of generated code, in LLVM IR so that no C compiler is needed.
;
;   ptr  lamina_pool_create(i32 threads)   a context for that many threads, the caller included; null: no memory
;   void lamina_pool_destroy(ptr ctx)
;   i32  lamina_pool_threads(ptr ctx)
;   void lamina_parallel_for(ptr ctx, ptr task, ptr closure, i64 n)
;        runs task(closure, begin, end) over parts of [0, n) and returns when all is done
;
; Part t of T is [n*t/T, n*(t+1)/T), and part 0 is the caller's. Workers spin for a while on the generation number, then
; sleep on it (futex). Worker t claims part t of generation g by changing its own claim from g-1 to g; a caller that has
; waited for a moment claims what is left itself, since its worker still wakes up or has lost its processor.
; A call that finds the pool busy, from another thread or from inside a task, runs everything itself.
; Marked words are filled in: {futex} the number of the system call, {pause} the spin-wait hint, {moment} and {patience}
; after how many of them a caller helps and a worker sleeps.

; What is written by different threads lies on lines of its own:
;        0 threads, 1 stop, 16 busy, 32 generation, 48 pending, 64 sleepers (i32 each)
;        byte 320: task, closure (ptr), n (i64)
;        byte 384: per worker 64 bytes: pthread_t, context, number, claim (i32)
%Words = type [96 x i32]
%Job = type { ptr, ptr, i64 }
%Worker = type { i64, ptr, i64, i32, [36 x i8] }

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)

define ptr @lamina_pool_create(i32 %asked) {
entry:
  %at_least = call i32 @llvm.smax.i32(i32 %asked, i32 1)
  %threads = call i32 @llvm.smin.i32(i32 %at_least, i32 1024)
  %count = zext i32 %threads to i64
  %workers = shl i64 %count, 6
  %size = add i64 %workers, 384
  %rounded = add i64 %size, 127
  %bytes = and i64 %rounded, -128
  %ctx = call ptr @aligned_alloc(i64 128, i64 %bytes)
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %fail, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %ctx, i8 0, i64 %bytes, i1 false)
  store i32 %threads, ptr %ctx
  br label %next
next:
  %i = phi i64 [ 1, %clear ], [ %following, %started ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %start, label %done
start:
  %records = getelementptr i8, ptr %ctx, i64 384
  %worker = getelementptr %Worker, ptr %records, i64 %i
  %context = getelementptr %Worker, ptr %worker, i32 0, i32 1
  store ptr %ctx, ptr %context
  %number = getelementptr %Worker, ptr %worker, i32 0, i32 2
  store i64 %i, ptr %number
  %error = call i32 @pthread_create(ptr %worker, ptr null, ptr @lamina_worker, ptr %worker)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %fewer, label %started
started:
  %following = add i64 %i, 1
  br label %next
fewer:                                            ; the system gives no more threads: go on with those there are
  %made = trunc i64 %i to i32
  store i32 %made, ptr %ctx
  br label %done
done:
  ret ptr %ctx
fail:
  ret ptr null
}

define void @lamina_pool_destroy(ptr %ctx) {
entry:
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %end, label %stop
stop:
  %flag = getelementptr %Words, ptr %ctx, i32 0, i32 1
  store i32 1, ptr %flag
  %generation = getelementptr %Words, ptr %ctx, i32 0, i32 32
  %old = atomicrmw add ptr %generation, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation, i32 129, i32 2147483647)
  %threads = load i32, ptr %ctx
  %count = zext i32 %threads to i64
  br label %next
next:
  %i = phi i64 [ 1, %stop ], [ %following, %join ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %join, label %release
join:
  %records = getelementptr i8, ptr %ctx, i64 384
  %worker = getelementptr %Worker, ptr %records, i64 %i
  %thread = load i64, ptr %worker
  %result = call i32 @pthread_join(i64 %thread, ptr null)
  %following = add i64 %i, 1
  br label %next
release:
  call void @free(ptr %ctx)
  br label %end
end:
  ret void
}

define i32 @lamina_pool_threads(ptr %ctx) {
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %one, label %ask
ask:
  %threads = load i32, ptr %ctx
  ret i32 %threads
one:
  ret i32 1
}

define void @lamina_parallel_for(ptr %ctx, ptr %task, ptr %closure, i64 %n) {
entry:
  %nothing = icmp sle i64 %n, 0
  br i1 %nothing, label %end, label %pool
pool:
  %alone = icmp eq ptr %ctx, null
  br i1 %alone, label %serial, label %size
size:
  %threads = load i32, ptr %ctx
  %several = icmp sgt i32 %threads, 1
  %many = icmp sgt i64 %n, 1
  %worth = and i1 %several, %many
  br i1 %worth, label %acquire, label %serial
acquire:
  %busy = getelementptr %Words, ptr %ctx, i32 0, i32 16
  %taken = cmpxchg ptr %busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %taken, 1
  br i1 %free, label %fork, label %serial
fork:
  %job = getelementptr i8, ptr %ctx, i64 320
  store ptr %task, ptr %job
  %job_closure = getelementptr %Job, ptr %job, i32 0, i32 1
  store ptr %closure, ptr %job_closure
  %job_n = getelementptr %Job, ptr %job, i32 0, i32 2
  store i64 %n, ptr %job_n
  %pending = getelementptr %Words, ptr %ctx, i32 0, i32 48
  %workers = sub i32 %threads, 1
  store atomic i32 %workers, ptr %pending monotonic, align 4
  %generation = getelementptr %Words, ptr %ctx, i32 0, i32 32
  %old = atomicrmw add ptr %generation, i32 1 seq_cst
  %this = add i32 %old, 1
  %sleepers = getelementptr %Words, ptr %ctx, i32 0, i32 64
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %some = icmp sgt i32 %asleep, 0
  br i1 %some, label %wake, label %own
wake:
  %woken = call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation, i32 129, i32 2147483647)
  br label %own
own:
  %parts = zext i32 %threads to i64
  %part = udiv i64 %n, %parts
  %some_own = icmp ugt i64 %part, 0
  br i1 %some_own, label %work, label %wait
work:
  call void %task(ptr %closure, i64 0, i64 %part)
  br label %wait
wait:
  %turn = phi i32 [ 0, %own ], [ 0, %work ], [ %turns, %again ]
  %left = load atomic i32, ptr %pending acquire, align 4
  %finished = icmp eq i32 %left, 0
  br i1 %finished, label %join, label %spin
spin:
  {pause}
  %turns = add i32 %turn, 1
  %moment = icmp eq i32 %turns, {moment}
  br i1 %moment, label %help, label %patient
help:
  %other = phi i64 [ 1, %spin ], [ %following, %helped ]
  %exists = icmp ult i64 %other, %parts
  br i1 %exists, label %look, label %again
look:
  %records = getelementptr i8, ptr %ctx, i64 384
  %claim = getelementptr %Worker, ptr %records, i64 %other, i32 3
  %claimed = load atomic i32, ptr %claim monotonic, align 4
  %unclaimed = icmp eq i32 %claimed, %old
  br i1 %unclaimed, label %try, label %helped
try:
  %exchanged = cmpxchg ptr %claim, i32 %old, i32 %this acq_rel monotonic
  %mine = extractvalue { i32, i1 } %exchanged, 1
  br i1 %mine, label %take, label %helped
take:
  %scaled = mul i64 %n, %other
  %begin = udiv i64 %scaled, %parts
  %after = add i64 %other, 1
  %scaled_next = mul i64 %n, %after
  %end_ = udiv i64 %scaled_next, %parts
  %some_taken = icmp ult i64 %begin, %end_
  br i1 %some_taken, label %run, label %count
run:
  call void %task(ptr %closure, i64 %begin, i64 %end_)
  br label %count
count:
  %remaining = atomicrmw sub ptr %pending, i32 1 acq_rel
  br label %helped
helped:
  %following = add i64 %other, 1
  br label %help
patient:
  %low = and i32 %turns, 255
  %long = icmp eq i32 %low, 0
  br i1 %long, label %yield, label %again
yield:                                            ; perhaps a worker waits for this very processor
  %yielded = call i32 @sched_yield()
  br label %again
again:
  br label %wait
join:
  store atomic i32 0, ptr %busy release, align 4
  br label %end
serial:
  call void %task(ptr %closure, i64 0, i64 %n)
  br label %end
end:
  ret void
}

define internal ptr @lamina_worker(ptr %self) {
entry:
  %context = getelementptr %Worker, ptr %self, i32 0, i32 1
  %ctx = load ptr, ptr %context
  %number = getelementptr %Worker, ptr %self, i32 0, i32 2
  %index = load i64, ptr %number
  %claim = getelementptr %Worker, ptr %self, i32 0, i32 3
  %stop = getelementptr %Words, ptr %ctx, i32 0, i32 1
  %generation = getelementptr %Words, ptr %ctx, i32 0, i32 32
  %pending = getelementptr %Words, ptr %ctx, i32 0, i32 48
  %sleepers = getelementptr %Words, ptr %ctx, i32 0, i32 64
  %job = getelementptr i8, ptr %ctx, i64 320
  %job_closure = getelementptr %Job, ptr %job, i32 0, i32 1
  %job_n = getelementptr %Job, ptr %job, i32 0, i32 2
  br label %listen
listen:
  %seen = phi i32 [ 0, %entry ], [ %seen, %slept ], [ %now, %done ], [ %now, %claiming ]
  br label %spin
spin:
  %turn = phi i32 [ 0, %listen ], [ %turns, %pause ], [ %turns, %yield ]
  %now = load atomic i32, ptr %generation acquire, align 4
  %called = icmp ne i32 %now, %seen
  br i1 %called, label %wake, label %pause
pause:
  {pause}
  %turns = add i32 %turn, 1
  %low = and i32 %turns, 255
  %long = icmp eq i32 %low, 0
  br i1 %long, label %yield, label %spin
yield:                                            ; perhaps the caller waits for this very processor
  %yielded = call i32 @sched_yield()
  %patient = icmp ult i32 %turns, {patience}
  br i1 %patient, label %spin, label %sleep
sleep:
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %last = load atomic i32, ptr %generation seq_cst, align 4
  %still = icmp eq i32 %last, %seen
  br i1 %still, label %futex, label %slept_not
futex:
  %waited = call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation, i32 128, i32 %seen, ptr null, ptr null, i32 0)
  br label %slept_not
slept_not:
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %slept
slept:
  br label %listen
wake:
  %ending = load i32, ptr %stop
  %ends = icmp ne i32 %ending, 0
  br i1 %ends, label %end, label %claiming
claiming:
  %before_now = sub i32 %now, 1
  %exchanged = cmpxchg ptr %claim, i32 %before_now, i32 %now acq_rel monotonic
  %mine = extractvalue { i32, i1 } %exchanged, 1
  br i1 %mine, label %work, label %listen
work:
  %task = load ptr, ptr %job
  %closure = load ptr, ptr %job_closure
  %n = load i64, ptr %job_n
  %threads = load i32, ptr %ctx
  %parts = zext i32 %threads to i64
  %scaled = mul i64 %n, %index
  %begin = udiv i64 %scaled, %parts
  %next = add i64 %index, 1
  %scaled_next = mul i64 %n, %next
  %end_ = udiv i64 %scaled_next, %parts
  %some = icmp ult i64 %begin, %end_
  br i1 %some, label %run, label %done
run:
  call void %task(ptr %closure, i64 %begin, i64 %end_)
  br label %done
done:
  %left = atomicrmw sub ptr %pending, i32 1 acq_rel
  br label %listen
end:
  ret ptr null
}
