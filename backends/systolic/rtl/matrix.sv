// Units wl and mm: read rows of the scratchpad into the array, and add what comes out of it to the accumulator.
module systolic_matrix #(
  parameter R = 4,
  parameter C = 4,
  parameter W = 4,
  parameter SPM_ROWS = 1024,
  parameter ACC_ROWS = 256
) (
  input  logic            clk,
  input  logic            rst,
  input  logic [15:0]     semaphores,
  input  logic            w_ready,
  input  logic [159:0]    w_head, // up, down, word
  output logic            w_pop,
  output logic [15:0]     w_row,
  input  logic [W*8-1:0]  w_spm,
  output logic [15:0]     w_up,
  input  logic            m_ready,
  input  logic [159:0]    m_head,
  output logic            m_pop,
  output logic [15:0]     m_row,
  input  logic [W*8-1:0]  m_spm,
  output logic [15:0]     m_up,
  output logic [15:0]     acc_row,
  input  logic [C*32-1:0] acc_q,
  output logic            acc_v,
  output logic [C*32-1:0] acc_d,
  output logic            w_active,
  output logic            m_active,
  output logic            w_bad,
  output logic            m_bad
);
  localparam N = R + C; // from a step of mm to its row of sums
  localparam A = $clog2(N);

  // wl
  logic w_busy, w_last, w_sync, full;
  logic [127:0] w_word;
  logic [15:0] w_signals;
  logic [7:0] k;
  assign w_sync = w_word[3:0] == `OP_SYNC;
  assign w_last = w_sync || k == 8'(R - 1);
  // mm
  logic m_busy, m_last, m_sync, m_first, swap;
  logic [127:0] m_word;
  logic [15:0] m_signals;
  logic [9:0] i0;
  logic [7:0] i1;
  logic [15:0] line, sums;
  assign m_sync = m_word[3:0] == `OP_SYNC;
  assign m_last = m_sync || (i0 + 1 == m_word[`MM_N0] && i1 + 1 == m_word[`MM_N1]);

  // weights are there from the last step of wl on, and may be loaded again from the start of the mm that takes them
  assign swap = m_head[3:0] == `OP_MM && m_head[`MM_SWAP];
  assign m_pop = m_ready && (!m_busy || m_last) && (semaphores & m_head[143:128]) == m_head[143:128]
    && (!swap || full || (w_busy && w_last && !w_sync));
  assign w_pop = w_ready && (!w_busy || w_last) && (semaphores & w_head[143:128]) == w_head[143:128]
    && (w_head[3:0] == `OP_SYNC || !(full || (w_busy && !w_sync)) || (m_pop && swap));

  assign w_row = w_word[`WL_SRC] + {8'd0, k};
  assign w_up = w_busy && w_last ? w_signals : 0;
  assign w_active = w_busy;
  assign w_bad = w_busy && !w_sync && k < w_word[`WL_ROWS] && 32'(w_row) >= SPM_ROWS;

  logic [7:0] tag;
  logic [C*8-1:0] weights;
  always_ff @(posedge clk) begin
    if (rst) begin
      w_busy <= 0;
      full <= 0;
      tag <= 0;
    end else begin
      if (w_pop) begin
        w_busy <= 1;
        w_word <= w_head[127:0];
        w_signals <= w_head[159:144];
        k <= 0;
      end else if (w_busy) begin
        if (w_last) w_busy <= 0;
        k <= k + 1;
      end
      if (m_pop && swap) full <= 0;
      else if (w_busy && w_last && !w_sync) full <= 1;
      tag <= w_busy && !w_sync ? k + 1 : 0;
      weights <= k < w_word[`WL_ROWS] ? w_spm[C*8-1:0] : 0;
    end
  end

  assign m_bad = (m_busy && !m_sync && 32'(m_row) >= SPM_ROWS) || (r_v && 32'(acc_row) >= ACC_ROWS);
  logic [R*8-1:0] activations;
  logic a_swap;
  always_ff @(posedge clk) begin
    activations <= m_spm[R*8-1:0];
    if (rst) begin
      m_busy <= 0;
      a_swap <= 0;
    end else begin
      a_swap <= m_busy && m_first && !m_sync && m_word[`MM_SWAP];
      if (m_pop) begin
        m_busy <= 1;
        m_first <= 1;
        m_word <= m_head[127:0];
        m_signals <= m_head[159:144];
        i0 <= 0;
        i1 <= 0;
        line <= m_head[`MM_A];
        m_row <= m_head[`MM_A];
        sums <= m_head[`MM_ACC];
      end else if (m_busy) begin
        m_first <= 0;
        sums <= sums + 1;
        if (m_last) m_busy <= 0;
        else if (i0 + 1 != m_word[`MM_N0]) begin
          i0 <= i0 + 1;
          m_row <= m_row + {4'd0, m_word[`MM_S0]};
        end else begin
          i0 <= 0;
          i1 <= i1 + 1;
          line <= line + m_word[`MM_S1];
          m_row <= line + m_word[`MM_S1];
        end
      end
    end
  end

  logic [C*32-1:0] y;
  systolic_array #(.R(R), .C(C)) array (
    .clk, .rst, .a_swap, .a_row(activations), .w_tag(tag), .w_row(weights), .y
  );

  // what happens to the row that comes out now was written down N cycles ago
  logic [33:0] ring [0:N-1];
  logic [A-1:0] at;
  logic [A:0] flight;
  logic r_any, r_v, r_accumulate;
  logic [15:0] r_up;
  logic [15:0] r_row;
  logic [N-1:0] valid;
  assign r_any = valid[at];
  assign {r_v, r_accumulate, r_up, r_row} = r_any ? ring[at] : 0;
  assign acc_row = r_row;
  assign acc_v = r_v && 32'(acc_row) < ACC_ROWS;
  assign m_up = r_up;
  assign m_active = m_busy || flight != 0;
  always_comb begin
    for (int c = 0; c < C; c++) acc_d[c*32 +: 32] = y[c*32 +: 32] + (r_accumulate ? acc_q[c*32 +: 32] : 0);
  end
  always_ff @(posedge clk) begin
    if (m_busy) ring[at] <= {!m_sync, m_word[`MM_ACCUMULATE], m_last ? m_signals : 16'd0, sums};
    if (rst) begin
      at <= 0;
      flight <= 0;
      valid <= 0;
    end else begin
      valid[at] <= m_busy;
      at <= at == A'(N - 1) ? 0 : at + 1;
      if (m_busy && !r_any) flight <= flight + 1;
      if (r_any && !m_busy) flight <= flight - 1;
    end
  end
endmodule
