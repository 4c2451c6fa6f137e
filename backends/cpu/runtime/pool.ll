; The fork-join thread pool of generated code, in LLVM IR so that no C compiler is needed.
;
;   ptr  lamina_pool_create(i32 threads)   a context for that many threads, the caller included; null: no memory
;   void lamina_pool_destroy(ptr ctx)
;   i32  lamina_pool_threads(ptr ctx)
;   void lamina_parallel_for(ptr ctx, ptr task, ptr closure, i64 n)
;        runs task(closure, begin, end) over parts of [0, n) and returns when all is done
;
; [0, n) is cut into T ranges and each of them into K chunks. Thread t works through range t and then helps with the
; others: a processor that is slower than the rest, or a worker that has yet to wake up, leaves its chunks to them, while
; in the usual case a thread meets the data that it wrote in the loop before. A range's claim is its generation and how
; many chunks are left; who lowers it has the chunk. Nobody can lower that of a loop which is over: none is left of it.
; Workers spin for a while on the generation number, then sleep on it (futex).
; A call that finds the pool busy, from another thread or from inside a task, runs everything itself.
; Marked words are filled in: {futex} the number of the system call, {pause} the spin-wait hint, {patience} after how
; many of them a worker sleeps, {chunks} the largest K.

; What is written by different threads lies on lines of its own:
;        0 threads, 1 stop, 16 busy, 32 generation, 48 pending, 64 sleepers (i32 each)
;        byte 320: task, closure (ptr), n, K (i64)
;        byte 384: per thread 64 bytes: pthread_t, context, number, claim (generation in the upper half)
%Words = type [96 x i32]
%Job = type { ptr, ptr, i64, i64 }
%Worker = type { i64, ptr, i64, i64, [32 x i8] }

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
  %parts = zext i32 %threads to i64
  %up = add i64 %n, %parts
  %below = sub i64 %up, 1
  %each = udiv i64 %below, %parts
  %chunks = call i64 @llvm.umin.i64(i64 %each, i64 {chunks})
  %job = getelementptr i8, ptr %ctx, i64 320
  store ptr %task, ptr %job
  %job_closure = getelementptr %Job, ptr %job, i32 0, i32 1
  store ptr %closure, ptr %job_closure
  %job_n = getelementptr %Job, ptr %job, i32 0, i32 2
  store i64 %n, ptr %job_n
  %job_chunks = getelementptr %Job, ptr %job, i32 0, i32 3
  store i64 %chunks, ptr %job_chunks
  %pending = getelementptr %Words, ptr %ctx, i32 0, i32 48
  %all = mul i64 %chunks, %parts
  %all_chunks = trunc i64 %all to i32
  store atomic i32 %all_chunks, ptr %pending monotonic, align 4
  %generation = getelementptr %Words, ptr %ctx, i32 0, i32 32
  %old = load atomic i32, ptr %generation monotonic, align 4
  %this = add i32 %old, 1
  %wide = zext i32 %this to i64
  %tag = shl i64 %wide, 32
  %claims = or i64 %tag, %chunks
  br label %offer
offer:
  %t = phi i64 [ 0, %fork ], [ %t_next, %offer ]
  %records = getelementptr i8, ptr %ctx, i64 384
  %claim = getelementptr %Worker, ptr %records, i64 %t, i32 3
  store atomic i64 %claims, ptr %claim monotonic, align 8
  %t_next = add i64 %t, 1
  %more = icmp ult i64 %t_next, %parts
  br i1 %more, label %offer, label %publish
publish:
  store atomic i32 %this, ptr %generation seq_cst, align 4
  %sleepers = getelementptr %Words, ptr %ctx, i32 0, i32 64
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %some = icmp sgt i32 %asleep, 0
  br i1 %some, label %wake, label %own
wake:
  %woken = call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation, i32 129, i32 2147483647)
  br label %own
own:
  call void @lamina_share(ptr %ctx, i32 %this, i64 0)
  br label %wait
wait:
  %turn = phi i32 [ 0, %own ], [ %turns, %spin ], [ %turns, %yield ]
  %left = load atomic i32, ptr %pending acquire, align 4
  %finished = icmp eq i32 %left, 0
  br i1 %finished, label %join, label %spin
spin:
  {pause}
  %turns = add i32 %turn, 1
  %low = and i32 %turns, 255
  %long = icmp eq i32 %low, 0
  br i1 %long, label %yield, label %wait
yield:                                            ; perhaps a worker waits for this very processor
  %yielded = call i32 @sched_yield()
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

; Runs chunks of the loop of that generation until none is unclaimed, those of range %first first.
define internal void @lamina_share(ptr %ctx, i32 %generation, i64 %first) {
entry:
  %threads = load i32, ptr %ctx
  %parts = zext i32 %threads to i64
  %records = getelementptr i8, ptr %ctx, i64 384
  %job = getelementptr i8, ptr %ctx, i64 320
  br label %range
range:
  %helped = phi i64 [ 0, %entry ], [ %helped_next, %exhausted ]
  %done = phi i32 [ 0, %entry ], [ %done_here, %exhausted ]
  %exists = icmp ult i64 %helped, %parts
  br i1 %exists, label %pick, label %finish
pick:
  %sum = add i64 %first, %helped
  %over = icmp uge i64 %sum, %parts
  %wrapped = sub i64 %sum, %parts
  %t = select i1 %over, i64 %wrapped, i64 %sum
  %claim = getelementptr %Worker, ptr %records, i64 %t, i32 3
  br label %try
try:
  %done_here = phi i32 [ %done, %pick ], [ %done_here, %lower ], [ %done_more, %ran ]
  %seen = load atomic i64, ptr %claim acquire, align 8
  %upper = lshr i64 %seen, 32
  %of = trunc i64 %upper to i32
  %left = and i64 %seen, 4294967295
  %this = icmp eq i32 %of, %generation
  %some = icmp ne i64 %left, 0
  %open = and i1 %this, %some
  br i1 %open, label %lower, label %exhausted
lower:
  %fewer = sub i64 %seen, 1
  %exchanged = cmpxchg ptr %claim, i64 %seen, i64 %fewer acq_rel monotonic
  %mine = extractvalue { i64, i1 } %exchanged, 1
  br i1 %mine, label %take, label %try
take:                                             ; only now is it sure which loop the job is
  %task = load ptr, ptr %job
  %job_closure = getelementptr %Job, ptr %job, i32 0, i32 1
  %closure = load ptr, ptr %job_closure
  %job_n = getelementptr %Job, ptr %job, i32 0, i32 2
  %n = load i64, ptr %job_n
  %job_chunks = getelementptr %Job, ptr %job, i32 0, i32 3
  %chunks = load i64, ptr %job_chunks
  %all = mul i64 %chunks, %parts
  %before = mul i64 %t, %chunks
  %up_to = add i64 %before, %chunks
  %chunk = sub i64 %up_to, %left
  %after = add i64 %chunk, 1
  %scaled = mul i64 %n, %chunk
  %begin = udiv i64 %scaled, %all
  %scaled_after = mul i64 %n, %after
  %end_ = udiv i64 %scaled_after, %all
  %any = icmp ult i64 %begin, %end_
  br i1 %any, label %run, label %ran
run:
  call void %task(ptr %closure, i64 %begin, i64 %end_)
  br label %ran
ran:
  %done_more = add i32 %done_here, 1
  br label %try
exhausted:
  %helped_next = add i64 %helped, 1
  br label %range
finish:
  %idle = icmp eq i32 %done, 0
  br i1 %idle, label %end, label %tell
tell:
  %pending = getelementptr %Words, ptr %ctx, i32 0, i32 48
  %remaining = atomicrmw sub ptr %pending, i32 %done acq_rel
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
  %stop = getelementptr %Words, ptr %ctx, i32 0, i32 1
  %generation = getelementptr %Words, ptr %ctx, i32 0, i32 32
  %sleepers = getelementptr %Words, ptr %ctx, i32 0, i32 64
  br label %listen
listen:
  %seen = phi i32 [ 0, %entry ], [ %seen, %slept ], [ %now, %work ]
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
  br i1 %ends, label %end, label %work
work:
  call void @lamina_share(ptr %ctx, i32 %now, i64 %index)
  br label %listen
end:
  ret ptr null
}
