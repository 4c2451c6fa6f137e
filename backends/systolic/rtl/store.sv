// Unit st: rows of the chip to DRAM or to the scratchpad; sums become bytes in four stages.
module systolic_store #(
  parameter C = 4,
  parameter W = 4,
  parameter WB = 4,
  parameter OUT_BYTES = 16, // a row of sums or of bytes, filled up to whole beats
  parameter SPM_ROWS = 1024,
  parameter ACC_ROWS = 256,
  parameter TAB_ROWS = 16
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              ready,
  input  logic [303:0]      head, // up, down, table, post, stride, word
  input  logic [15:0]       semaphores,
  output logic              pop,
  output logic [15:0]       row,
  input  logic [W*8-1:0]    spm_q,
  input  logic [C*32-1:0]   acc_q,
  output logic [15:0]       tab_row,
  input  logic [C*64-1:0]   tab_q,
  output logic              spm_v,
  output logic [15:0]       spm_row,
  output logic [W*8-1:0]    spm_d,
  output logic              wr_v,
  output logic [31:0]       wr_a,
  output logic [WB-1:0]     wr_m,
  output logic [WB*8-1:0]   wr_d,
  output logic [15:0]       up,
  output logic              active,
  output logic              bad_row
);
  logic walking, last_beat, last, sync, requantized;
  logic [127:0] word, cfg;
  logic [15:0] signals;
  logic [9:0] i0;
  logic [7:0] i1, beat;
  logic [31:0] line_a, row_a;
  logic [15:0] line_row;
  logic signed [31:0] s0, s1;
  logic [9:0] bytes;

  assign sync = word[3:0] == `OP_SYNC;
  assign requantized = word[`ST_POST] >= 32;
  assign s0 = 32'($signed(cfg[`STRIDE_S0]));
  assign s1 = 32'($signed(cfg[`STRIDE_S1]));
  assign bytes = word[`ST_SOURCE] && !requantized ? {word[`ST_LEN], 2'd0} : {2'd0, word[`ST_LEN]};
  assign last_beat = sync || word[`ST_TO] || 32'(bytes) <= (32'(beat) + 1) * WB;
  assign last = last_beat && (sync || (i0 + 1 == word[`ST_N0] && i1 + 1 == word[`ST_N1]));
  assign pop = ready && (!active || finished) && (semaphores & head[287:272]) == head[287:272];
  assign bad_row = (walking && !sync && 32'(row) >= (word[`ST_SOURCE] ? ACC_ROWS : SPM_ROWS))
    || (walking && !sync && requantized && 32'(tab_row) >= TAB_ROWS)
    || (spm_v && 32'(spm_row) >= SPM_ROWS);

  always_ff @(posedge clk) begin
    if (rst) begin
      walking <= 0;
      active <= 0;
    end else if (pop) begin
      walking <= 1;
      active <= 1;
      {cfg, word} <= head[255:0];
      tab_row <= {8'd0, head[192 + `POST_TABLE]} + head[271:256];
      signals <= head[303:288];
      i0 <= 0;
      i1 <= 0;
      beat <= 0;
      line_a <= head[`ST_DST];
      row_a <= head[`ST_DST];
      line_row <= head[`ST_SRC];
      row <= head[`ST_SRC];
    end else begin
      if (finished) active <= 0;
      if (walking) begin
        if (last) walking <= 0;
        else if (!last_beat) beat <= beat + 1;
        else begin
          beat <= 0;
          if (i0 + 1 != word[`ST_N0]) begin
            i0 <= i0 + 1;
            row_a <= row_a + s0;
            row <= row + 1;
          end else begin
            i0 <= 0;
            i1 <= i1 + 1;
            line_a <= line_a + s1;
            row_a <= line_a + s1;
            line_row <= line_row + cfg[`STRIDE_D1];
            row <= line_row + cfg[`STRIDE_D1];
          end
        end
      end
    end
  end

  // what goes with a step through the stages: valid, last, beat, address
  logic [3:0] v, z;
  logic [7:0] b1, b2, b3, b4;
  logic [31:0] a1, a2, a3, a4;
  logic [OUT_BYTES*8-1:0] d1, d2, d3, d4;
  logic [C*64-1:0] t1;
  logic [C*32-1:0] scales;
  logic finished;
  assign finished = z[3];
  assign up = finished ? signals : 0;

  `include "float.svh"

  always_ff @(posedge clk) begin
    if (rst) begin
      v <= 0;
      z <= 0;
    end else begin
      v <= {v[2:0], walking && !sync};
      z <= {z[2:0], walking && last};
    end
    {b4, b3, b2, b1} <= {b3, b2, b1, beat};
    {a4, a3, a2, a1} <= {a3, a2, a1, row_a};
    if (walking) begin // read
      d1 <= word[`ST_SOURCE] ? (OUT_BYTES * 8)'(acc_q) : (OUT_BYTES * 8)'(spm_q);
      t1 <= tab_q;
    end
    if (v[0]) begin // add the bias
      d2 <= d1;
      if (requantized) for (int c = 0; c < C; c++) begin
        d2[c*32 +: 32] <= f_int(d1[c*32 +: 32] + t1[c*64 +: 32]);
        scales[c*32 +: 32] <= t1[c*64+32 +: 32];
      end
    end
    if (v[1]) begin // multiply
      d3 <= d2;
      if (requantized) for (int c = 0; c < C; c++)
        d3[c*32 +: 32] <= f_mul(d2[c*32 +: 32], scales[c*32 +: 32]);
    end
    if (v[2]) begin // round
      d4 <= d3;
      if (requantized) begin
        for (int c = 0; c < C; c++)
          d4[c*8 +: 8] <= f_byte(d3[c*32 +: 32], cfg[64 + `POST_ZERO], cfg[64 + `POST_LO], cfg[64 + `POST_HI]);
      end
    end
  end

  assign spm_v = v[3] && word[`ST_TO];
  assign spm_row = a4[15:0];
  assign wr_v = v[3] && !word[`ST_TO];
  assign wr_a = a4 + 32'(b4) * WB;
  always_comb begin
    for (int j = 0; j < W; j++)
      spm_d[j*8 +: 8] = 8'(j) < word[`ST_LEN] ? d4[j*8 +: 8] : 8'd0;
    wr_d = d4[32'(b4)*WB*8 +: WB*8];
    for (int b = 0; b < WB; b++) wr_m[b] = wr_v && 32'(b4) * WB + b < 32'(bytes);
  end
endmodule
