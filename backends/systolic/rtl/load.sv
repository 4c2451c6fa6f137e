// Unit ld: a beat of a row is asked for in every step; what comes back, some cycles later, is put together to rows.
module systolic_load #(
  parameter C = 4,
  parameter RB = 4,
  parameter ROW_BYTES = 32,
  parameter FLIGHT = 16,
  parameter SPM_ROWS = 1024,
  parameter ACC_ROWS = 256,
  parameter TAB_ROWS = 16,
  parameter LUT_ROWS = 64
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              ready,
  input  logic [287:0]      head, // up, down, window, stride, word
  input  logic [15:0]       semaphores,
  output logic              pop,
  output logic              rd_v,
  output logic [31:0]       rd_a,
  output logic [RB-1:0]     rd_m,
  input  logic              rsp_v,
  input  logic [RB*8-1:0]   rsp_d,
  output logic [3:0]        wr_v, // spm, acc, tab, lut
  output logic [15:0]       wr_row,
  output logic [ROW_BYTES*8-1:0] wr_d,
  output logic [15:0]       up,
  output logic              active,
  output logic              bad_row,
  output logic              bad_factor
);
  localparam GROUPS = ROW_BYTES / RB;
  localparam FA = $clog2(FLIGHT);
  localparam META = 16 + 16 + 2 + 8 + 1 + 1 + 11 + 8 + RB;
  logic busy, last_beat, last;
  logic [127:0] word, cfg;
  logic [15:0] signals, down;
  logic [9:0] i0;
  logic [7:0] i1, beat;
  logic [31:0] line_a, row_a, x;
  logic [15:0] line_row, row;
  logic signed [31:0] s0, s1;
  logic [10:0] bytes;
  logic sync, padded, y_in;

  assign sync = word[3:0] == `OP_SYNC;
  assign padded = word[`LD_WINDOW] >= 32;
  assign s0 = 32'($signed(cfg[`STRIDE_S0]));
  assign s1 = 32'($signed(cfg[`STRIDE_S1]));
  assign bytes = word[`LD_TO] == 1 ? {1'b0, word[`LD_LEN], 2'd0} : word[`LD_TO] == 2 ? {word[`LD_LEN], 3'd0}
    : {3'd0, word[`LD_LEN]};
  assign last_beat = sync || 32'(bytes) <= (32'(beat) + 1) * RB;
  assign last = last_beat && (sync || (i0 + 1 == word[`LD_N0] && i1 + 1 == word[`LD_N1]));
  assign down = head[271:256];
  assign pop = ready && (!busy || last) && (semaphores & down) == down;
  assign y_in = i1 >= cfg[64 + `WINDOW_Y_LO] && i1 < cfg[64 + `WINDOW_Y_HI];

  // the request of this step, and the bytes of it that are wanted
  assign rd_v = busy;
  assign rd_a = row_a + 32'(beat) * RB;
  always_comb begin
    rd_m = 0;
    for (int b = 0; b < RB; b++) begin
      logic [31:0] at;
      at = 32'(beat) * RB + b;
      rd_m[b] = busy && !sync && at < 32'(bytes) && (!padded || (y_in
        && $signed(x + at) >= $signed({14'd0, cfg[64 + `WINDOW_X_LO]})
        && $signed(x + at) < $signed({12'd0, cfg[64 + `WINDOW_X_HI]})));
    end
  end

  always_ff @(posedge clk) begin
    if (rst) busy <= 0;
    else if (pop) begin
      busy <= 1;
      {cfg, word} <= head[255:0];
      signals <= head[287:272];
      i0 <= 0;
      i1 <= 0;
      beat <= 0;
      line_a <= head[`LD_SRC];
      row_a <= head[`LD_SRC];
      line_row <= head[`LD_DST];
      row <= head[`LD_DST];
      x <= 0;
    end else if (busy) begin
      if (last) busy <= 0;
      else if (!last_beat) beat <= beat + 1;
      else begin
        beat <= 0;
        if (i0 + 1 != word[`LD_N0]) begin
          i0 <= i0 + 1;
          row_a <= row_a + s0;
          row <= row + 1;
          x <= x + s0;
        end else begin
          i0 <= 0;
          i1 <= i1 + 1;
          line_a <= line_a + s1;
          row_a <= line_a + s1;
          line_row <= line_row + cfg[`STRIDE_D1];
          row <= line_row + cfg[`STRIDE_D1];
          x <= 0;
        end
      end
    end
  end

  // what is on its way
  logic [META-1:0] flight [0:FLIGHT-1];
  logic [FA-1:0] first, next;
  logic [FA:0] count;
  logic [15:0] f_up, f_row;
  logic [1:0] f_to;
  logic [7:0] f_beat, f_pad;
  logic f_last, f_sync;
  logic [10:0] f_bytes;
  logic [RB-1:0] f_m;
  assign {f_up, f_row, f_to, f_beat, f_last, f_sync, f_bytes, f_pad, f_m} = flight[first];
  assign active = busy || count != 0;
  always_ff @(posedge clk) begin
    if (rd_v)
      flight[next] <= {last ? signals : 16'd0, row, word[`LD_TO], beat, last_beat, sync, bytes,
        padded ? cfg[64 + `WINDOW_VALUE] : 8'd0, rd_m};
    if (rst) begin
      first <= 0;
      next <= 0;
      count <= 0;
    end else begin
      if (rd_v) next <= next == FA'(FLIGHT - 1) ? 0 : next + 1;
      if (rsp_v) first <= first == FA'(FLIGHT - 1) ? 0 : first + 1;
      if (rd_v && !rsp_v) count <= count + 1;
      if (rsp_v && !rd_v) count <= count - 1;
    end
  end

  // the answer of this cycle
  logic [RB*8-1:0] now;
  logic [ROW_BYTES*8-1:0] kept;
  always_comb begin
    for (int b = 0; b < RB; b++)
      now[b*8 +: 8] = f_m[b] ? rsp_d[b*8 +: 8] : 32'(f_beat) * RB + b < 32'(f_bytes) ? f_pad : 8'd0;
    for (int g = 0; g < GROUPS; g++)
      wr_d[g*RB*8 +: RB*8] = 8'(g) == f_beat ? now : 8'(g) < f_beat ? kept[g*RB*8 +: RB*8] : 0;
  end
  assign up = rsp_v ? f_up : 0;
  assign wr_row = f_row;
  assign wr_v = rsp_v && f_last && !f_sync && !bad_row ? 4'd1 << f_to : 4'd0;
  assign bad_row = rsp_v && f_last && !f_sync && 32'(f_row) >= (f_to == 0 ? SPM_ROWS : f_to == 1 ? ACC_ROWS
    : f_to == 2 ? TAB_ROWS : LUT_ROWS);
  always_comb begin
    bad_factor = 0;
    if (wr_v[2]) for (int c = 0; c < C; c++) if (wr_d[c*64+55 +: 8] >= 191) bad_factor = 1;
  end
  always_ff @(posedge clk) if (rsp_v && !f_last) kept[32'(f_beat)*RB*8 +: RB*8] <= now;
endmodule
