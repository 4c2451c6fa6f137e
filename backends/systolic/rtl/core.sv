// The machine: instructions are asked for by `pc`, DRAM is read and written by beats of bytes.
//
// `instr` is the word at `pc` in the same cycle (0 behind the end of the program, which traps). What `rd_v` asks for in
// one cycle comes with `rsp_v` a fixed number of cycles later, in order. `rd_m` and `wr_m` tell which bytes are meant.
module systolic_core #(
  parameter R = 4,
  parameter C = 4,
  parameter W = 4,
  parameter SPM_ROWS = 1024,
  parameter ACC_ROWS = 256,
  parameter TAB_ROWS = 16,
  parameter LUT_ROWS = 64,
  parameter RB = 4,
  parameter WB = 4,
  parameter ROW_BYTES = 32,
  parameter OUT_BYTES = 16,
  parameter FLIGHT = 9,
  parameter DEPTH = 4
) (
  input  logic             clk,
  input  logic             rst,
  output logic [31:0]      pc,
  input  logic [127:0]     instr,
  output logic             rd_v,
  output logic [31:0]      rd_a,
  output logic [RB-1:0]    rd_m,
  input  logic             rsp_v,
  input  logic [RB*8-1:0]  rsp_d,
  output logic             wr_v,
  output logic [31:0]      wr_a,
  output logic [WB-1:0]    wr_m,
  output logic [WB*8-1:0]  wr_d,
  output logic [4:0]       mark_v, // a `sync mark` starts in unit ld, wl, mm, ve, st
  output logic [79:0]      mark_tag,
  output logic             done,
  output logic [3:0]       trap,
  output logic [15:0]      trap_code
);
  localparam SA = $clog2(SPM_ROWS);
  localparam AA = $clog2(ACC_ROWS);
  localparam TA = TAB_ROWS > 1 ? $clog2(TAB_ROWS) : 1;
  localparam LA = $clog2(LUT_ROWS);
  logic [4:0] push, full, ready, pop, active, bad;
  logic [127:0] word;
  logic [255:0] cfgs;
  logic [15:0] tab, up, down, semaphores;
  logic overflow, bad_factor, w_bad, m_bad;
  logic [15:0] ld_up, wl_up, mm_up, ve_up, st_up;

  // what an instruction counts up and down, one bit per semaphore
  assign up = (word[`SIGNAL0_ON] ? 16'd1 << word[`SIGNAL0_ID] : 0) | (word[`SIGNAL1_ON] ? 16'd1 << word[`SIGNAL1_ID] : 0);
  assign down = (word[`WAIT0_ON] ? 16'd1 << word[`WAIT0_ID] : 0) | (word[`WAIT1_ON] ? 16'd1 << word[`WAIT1_ID] : 0);

  systolic_dispatch #(.R(R), .C(C), .W(W)) dispatch (
    .clk, .rst, .pc, .instr, .full, .idle(ready == 0 && active == 0), .overflow, .bad_row(bad), .bad_factor,
    .push, .word, .cfgs, .tab, .done, .trap, .trap_code
  );

  logic [287:0] ld_head;
  logic [159:0] wl_head, mm_head;
  logic [415:0] ve_head;
  logic [303:0] st_head;
  systolic_queue #(.WIDTH(288), .DEPTH(DEPTH)) ld_queue (
    .clk, .rst, .push(push[0]), .pop(pop[0]), .in({up, down, cfgs[127:0], word}), .head(ld_head), .ready(ready[0]),
    .full(full[0])
  );
  systolic_queue #(.WIDTH(160), .DEPTH(DEPTH)) wl_queue (
    .clk, .rst, .push(push[1]), .pop(pop[1]), .in({up, down, word}), .head(wl_head), .ready(ready[1]), .full(full[1])
  );
  systolic_queue #(.WIDTH(160), .DEPTH(DEPTH)) mm_queue (
    .clk, .rst, .push(push[2]), .pop(pop[2]), .in({up, down, word}), .head(mm_head), .ready(ready[2]), .full(full[2])
  );
  systolic_queue #(.WIDTH(416), .DEPTH(DEPTH)) ve_queue (
    .clk, .rst, .push(push[3]), .pop(pop[3]), .in({up, down, cfgs, word}), .head(ve_head), .ready(ready[3]),
    .full(full[3])
  );
  systolic_queue #(.WIDTH(304), .DEPTH(DEPTH)) st_queue (
    .clk, .rst, .push(push[4]), .pop(pop[4]), .in({up, down, tab, cfgs[127:0], word}), .head(st_head), .ready(ready[4]),
    .full(full[4])
  );
  systolic_semaphores counters (
    .clk, .rst, .up({st_up, ve_up, mm_up, wl_up, ld_up}),
    .down({
      pop[4] ? st_head[287:272] : 16'd0, pop[3] ? ve_head[399:384] : 16'd0, pop[2] ? mm_head[143:128] : 16'd0,
      pop[1] ? wl_head[143:128] : 16'd0, pop[0] ? ld_head[271:256] : 16'd0
    }),
    .ready(semaphores), .overflow
  );
  assign mark_v = pop & {
    st_head[3:0] == `OP_SYNC && st_head[`SYNC_MARK], ve_head[3:0] == `OP_SYNC && ve_head[`SYNC_MARK],
    mm_head[3:0] == `OP_SYNC && mm_head[`SYNC_MARK], wl_head[3:0] == `OP_SYNC && wl_head[`SYNC_MARK],
    ld_head[3:0] == `OP_SYNC && ld_head[`SYNC_MARK]
  };
  assign mark_tag = {
    st_head[`SYNC_TAG], ve_head[`SYNC_TAG], mm_head[`SYNC_TAG], wl_head[`SYNC_TAG], ld_head[`SYNC_TAG]
  };

  // memories: every reader and writer has its own port, and a row is read as it was before the edge
  logic [W*8-1:0] spm [0:SPM_ROWS-1];
  logic [C*32-1:0] acc [0:ACC_ROWS-1];
  logic [C*64-1:0] table_rows [0:TAB_ROWS-1];
  logic [W*8-1:0] lut_rows [0:LUT_ROWS-1];
  logic [LUT_ROWS*W*8-1:0] lut;
  for (genvar i = 0; i < LUT_ROWS; i++) begin : each_row
    assign lut[i*W*8 +: W*8] = lut_rows[i];
  end

  logic [3:0] ld_v;
  logic [15:0] ld_row, wl_row, mm_row, mm_acc_row, ve_a_row, ve_b_row, ve_row, st_row, st_tab_row, st_spm_row;
  logic [ROW_BYTES*8-1:0] ld_d;
  logic [C*32-1:0] mm_d, ve_acc_d;
  logic [W*8-1:0] ve_d, st_d;
  logic mm_v, ve_v, ve_acc_v, st_v;

  systolic_load #(
    .C(C), .RB(RB), .ROW_BYTES(ROW_BYTES), .FLIGHT(FLIGHT), .SPM_ROWS(SPM_ROWS), .ACC_ROWS(ACC_ROWS),
    .TAB_ROWS(TAB_ROWS), .LUT_ROWS(LUT_ROWS)
  ) load (
    .clk, .rst, .ready(ready[0]), .head(ld_head), .semaphores, .pop(pop[0]), .rd_v, .rd_a, .rd_m, .rsp_v, .rsp_d,
    .wr_v(ld_v), .wr_row(ld_row), .wr_d(ld_d), .up(ld_up), .active(active[0]), .bad_row(bad[0]), .bad_factor
  );
  systolic_matrix #(.R(R), .C(C), .W(W), .SPM_ROWS(SPM_ROWS), .ACC_ROWS(ACC_ROWS)) matrix (
    .clk, .rst, .semaphores, .w_ready(ready[1]), .w_head(wl_head), .w_pop(pop[1]), .w_row(wl_row),
    .w_spm(spm[wl_row[SA-1:0]]), .w_up(wl_up), .m_ready(ready[2]), .m_head(mm_head), .m_pop(pop[2]), .m_row(mm_row),
    .m_spm(spm[mm_row[SA-1:0]]), .m_up(mm_up), .acc_row(mm_acc_row), .acc_q(acc[mm_acc_row[AA-1:0]]), .acc_v(mm_v),
    .acc_d(mm_d), .w_active(active[1]), .m_active(active[2]), .w_bad, .m_bad
  );
  assign bad[2:1] = {m_bad, w_bad};
  systolic_vector #(.C(C), .W(W), .SPM_ROWS(SPM_ROWS), .ACC_ROWS(ACC_ROWS)) vector (
    .clk, .rst, .ready(ready[3]), .head(ve_head), .semaphores, .pop(pop[3]), .a_row(ve_a_row),
    .a_spm(spm[ve_a_row[SA-1:0]]), .b_row(ve_b_row), .b_spm(spm[ve_b_row[SA-1:0]]), .lut(lut[2047:0]), .spm_v(ve_v),
    .to_row(ve_row), .spm_d(ve_d), .acc_v(ve_acc_v), .acc_q(acc[ve_row[AA-1:0]]), .acc_d(ve_acc_d), .up(ve_up),
    .active(active[3]), .bad_row(bad[3])
  );
  systolic_store #(
    .C(C), .W(W), .WB(WB), .OUT_BYTES(OUT_BYTES), .SPM_ROWS(SPM_ROWS), .ACC_ROWS(ACC_ROWS), .TAB_ROWS(TAB_ROWS)
  ) store (
    .clk, .rst, .ready(ready[4]), .head(st_head), .semaphores, .pop(pop[4]), .row(st_row), .spm_q(spm[st_row[SA-1:0]]),
    .acc_q(acc[st_row[AA-1:0]]), .tab_row(st_tab_row), .tab_q(table_rows[st_tab_row[TA-1:0]]), .spm_v(st_v),
    .spm_row(st_spm_row), .spm_d(st_d), .wr_v, .wr_a, .wr_m, .wr_d, .up(st_up), .active(active[4]), .bad_row(bad[4])
  );

  always_ff @(posedge clk) begin
    if (ld_v[0]) spm[ld_row[SA-1:0]] <= ld_d[W*8-1:0];
    if (ve_v) spm[ve_row[SA-1:0]] <= ve_d;
    if (st_v) spm[st_spm_row[SA-1:0]] <= st_d;
    if (ld_v[1]) acc[ld_row[AA-1:0]] <= ld_d[C*32-1:0];
    if (mm_v) acc[mm_acc_row[AA-1:0]] <= mm_d;
    if (ve_acc_v) acc[ve_row[AA-1:0]] <= ve_acc_d;
    if (ld_v[2]) table_rows[ld_row[TA-1:0]] <= ld_d[C*64-1:0];
    if (ld_v[3]) lut_rows[ld_row[LA-1:0]] <= ld_d[W*8-1:0];
  end
endmodule
