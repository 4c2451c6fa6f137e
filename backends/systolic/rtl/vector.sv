// Unit ve: arithmetic lane by lane over windows of rows of the scratchpad, in five stages.
module systolic_vector #(
  parameter C = 4,
  parameter W = 4,
  parameter SPM_ROWS = 1024,
  parameter ACC_ROWS = 256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              ready,
  input  logic [415:0]      head, // up, down, scale, post, out, gen, word
  input  logic [15:0]       semaphores,
  output logic              pop,
  output logic [15:0]       a_row,
  input  logic [W*8-1:0]    a_spm,
  output logic [15:0]       b_row,
  input  logic [W*8-1:0]    b_spm,
  input  logic [2047:0]     lut,
  output logic              spm_v,
  output logic [15:0]       to_row,
  output logic [W*8-1:0]    spm_d,
  output logic              acc_v,
  input  logic [C*32-1:0]   acc_q,
  output logic [C*32-1:0]   acc_d,
  output logic [15:0]       up,
  output logic              active,
  output logic              bad_row
);
  localparam [2:0] MAC = 0, MAX = 1, MIN = 2, ADD = 3;
  logic walking, sync, first, last_tap, last, accumulate;
  logic [127:0] word;
  logic [255:0] cfg;
  logic [15:0] signals;
  logic [9:0] i0;
  logic [7:0] i1;
  logic [3:0] j0, j1;
  logic [15:0] a_line, a_out, a_tap, b_line, b_out, b_tap, d_line, d_out;
  logic [2:0] kind;

  assign sync = word[3:0] == `OP_SYNC;
  assign kind = word[`VE_KIND];
  assign accumulate = word[`VE_ACCUMULATE];
  assign first = j0 == 0 && j1 == 0;
  assign last_tap = sync || (j0 + 1 == cfg[`GEN_K0] && j1 + 1 == cfg[`GEN_K1]);
  assign last = last_tap && (sync || (i0 + 1 == word[`VE_N0] && i1 + 1 == word[`VE_N1]));
  assign pop = ready && (!active || finished) && (semaphores & head[399:384]) == head[399:384];
  assign b_row = b_tap;

  logic last_row, last_line;
  assign last_row = j0 + 1 == cfg[`GEN_K0];
  assign last_line = i0 + 1 == word[`VE_N0];
  logic [15:0] w_line; // the start of this row of the window
  always_ff @(posedge clk) begin
    if (rst) begin
      walking <= 0;
      active <= 0;
    end else if (pop) begin
      walking <= 1;
      active <= 1;
      {cfg, word} <= head[383:0];
      signals <= head[415:400];
      i0 <= 0;
      i1 <= 0;
      j0 <= 0;
      j1 <= 0;
      a_line <= head[`VE_A];
      a_out <= head[`VE_A];
      w_line <= head[`VE_A];
      a_tap <= head[`VE_A];
      b_line <= head[`VE_B];
      b_out <= head[`VE_B];
      b_tap <= head[`VE_B];
      d_line <= head[`VE_DST];
      d_out <= head[`VE_DST];
    end else begin
      if (finished) active <= 0;
      if (walking) begin
        if (last) walking <= 0;
        else if (!last_tap) begin
          b_tap <= b_tap + {4'd0, cfg[64 + `OUT_BT]};
          if (!last_row) begin
            j0 <= j0 + 1;
            a_tap <= a_tap + {4'd0, cfg[`GEN_T0]};
          end else begin
            j0 <= 0;
            j1 <= j1 + 1;
            w_line <= w_line + cfg[`GEN_T1];
            a_tap <= w_line + cfg[`GEN_T1];
          end
        end else begin
          j0 <= 0;
          j1 <= 0;
          if (!last_line) begin
            i0 <= i0 + 1;
            a_out <= a_out + {4'd0, cfg[`GEN_S0]};
            w_line <= a_out + {4'd0, cfg[`GEN_S0]};
            a_tap <= a_out + {4'd0, cfg[`GEN_S0]};
            b_out <= b_out + {4'd0, cfg[64 + `OUT_B0]};
            b_tap <= b_out + {4'd0, cfg[64 + `OUT_B0]};
            d_out <= d_out + {8'd0, cfg[64 + `OUT_D0]};
          end else begin
            i0 <= 0;
            i1 <= i1 + 1;
            a_line <= a_line + cfg[`GEN_S1];
            a_out <= a_line + cfg[`GEN_S1];
            w_line <= a_line + cfg[`GEN_S1];
            a_tap <= a_line + cfg[`GEN_S1];
            b_line <= b_line + cfg[64 + `OUT_B1];
            b_out <= b_line + cfg[64 + `OUT_B1];
            b_tap <= b_line + cfg[64 + `OUT_B1];
            d_line <= d_line + cfg[64 + `OUT_D1];
            d_out <= d_line + cfg[64 + `OUT_D1];
          end
        end
      end
    end
  end
  assign a_row = a_tap;

  // stages: read; multiply or compare; add; add; round and write
  logic [3:0] v, z; // the last element of a window, and of all
  logic [15:0] r1, r2, r3;
  logic [W*8-1:0] x, y, best, m3, m4;
  logic s1_v, s1_first;
  logic [C*32-1:0] run, n3, n4;
  logic [W*32-1:0] p1, q1, p2, q2, sum;
  logic finished;
  assign finished = z[3];
  assign up = finished ? signals : 0;

  `include "float.svh"

  logic reads_b;
  assign reads_b = kind == MAC || kind == ADD || (accumulate && first);
  assign bad_row = (walking && !sync && 32'(a_row) >= SPM_ROWS)
    || (walking && !sync && reads_b && 32'(b_row) >= SPM_ROWS)
    || (v[3] && 32'(to_row) >= (kind == MAC ? ACC_ROWS : SPM_ROWS));

  always_ff @(posedge clk) begin
    if (rst) begin
      v <= 0;
      z <= 0;
      s1_v <= 0;
    end else begin
      v <= {v[2:0], walking && last_tap && !sync};
      z <= {z[2:0], walking && last};
      s1_v <= walking && !sync;
    end
    s1_first <= first;
    {to_row, r3, r2, r1} <= {r3, r2, r1, d_out};
    if (walking) begin
      x <= a_spm;
      y <= b_spm;
    end
    if (s1_v) case (kind)
      MAC: for (int c = 0; c < C; c++)
        run[c*32 +: 32] <= (s1_first ? 0 : run[c*32 +: 32])
          + 32'(16'($signed(x[c*8 +: 8])) * 16'($signed(y[c*8 +: 8])));
      MAX, MIN: for (int j = 0; j < W; j++) best[j*8 +: 8] <= better(
        s1_first ? (accumulate ? y[j*8 +: 8] : x[j*8 +: 8]) : best[j*8 +: 8], x[j*8 +: 8], kind == MIN);
      ADD: for (int j = 0; j < W; j++) begin
        p1[j*32 +: 32] <= f_mul(f_int(32'($signed(x[j*8 +: 8]))), cfg[192 + `SCALE_RA]);
        q1[j*32 +: 32] <= f_mul(f_int(32'($signed(y[j*8 +: 8]))), cfg[192 + `SCALE_RB]);
      end
      default: for (int j = 0; j < W; j++) // lut
        best[j*8 +: 8] <= lut[{x[j*8 +: 8] ^ 8'h80, 3'd0} +: 8];
    endcase
    if (v[1]) begin
      n3 <= run;
      m3 <= best;
      p2 <= p1;
      if (kind == ADD) for (int j = 0; j < W; j++)
        q2[j*32 +: 32] <= f_add(q1[j*32 +: 32], cfg[128 + `POST_OFFSET]);
    end
    if (v[2]) begin
      n4 <= n3;
      m4 <= m3;
      if (kind == ADD) for (int j = 0; j < W; j++) sum[j*32 +: 32] <= f_add(p2[j*32 +: 32], q2[j*32 +: 32]);
    end
  end

  assign acc_v = v[3] && kind == MAC;
  assign spm_v = v[3] && kind != MAC;
  always_comb begin
    for (int c = 0; c < C; c++) acc_d[c*32 +: 32] = n4[c*32 +: 32] + (accumulate ? acc_q[c*32 +: 32] : 0);
    spm_d = m4;
    if (kind == ADD) for (int j = 0; j < W; j++)
      spm_d[j*8 +: 8] = f_byte(sum[j*32 +: 32], cfg[128 + `POST_ZERO], cfg[128 + `POST_LO], cfg[128 + `POST_HI]);
  end

  function automatic logic [7:0] better(input logic [7:0] a, input logic [7:0] b, input logic least);
    better = ($signed(a) > $signed(b)) != least ? a : b;
  endfunction
endmodule
