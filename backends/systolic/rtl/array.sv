// The array: R x C products and sums, weight-stationary, fed by rows and read by rows.
//
// A row of activations enters with byte r delayed by r cycles, moves to the right, and meets the sums that move down.
// A row of weights enters with byte c delayed by c cycles and moves down; the row of the array that it is for keeps it
// in the shadow, one column a cycle. `swap` moves along with the first activations that need the shadow. A row that
// stands at `a_row` in cycle s is summed up in `y` in cycle s + R + C - 1.
module systolic_array #(
  parameter R = 4,
  parameter C = 4
) (
  input  logic            clk,
  input  logic            rst,
  input  logic            a_swap,
  input  logic [R*8-1:0]  a_row,
  input  logic [7:0]      w_tag, // 1 + the row of the array that the weights are for; 0: there are none
  input  logic [C*8-1:0]  w_row,
  output logic [C*32-1:0] y
);
  localparam A = $clog2(R + C + 1);
  logic signed [7:0] av [0:R*C-1];  // activations
  logic signed [7:0] wa [0:R*C-1];  // weights in use
  logic signed [7:0] ws [0:R*C-1];  // their shadow
  logic signed [7:0] wv [0:R*C-1];  // weights on their way down
  logic signed [31:0] ps [0:R*C-1]; // sums
  logic [C-1:0] sw [0:R-1];         // where a row takes the shadow
  logic [C-1:0] en [0:R-1];         // where a row keeps what is on its way
  logic signed [7:0] sk [0:R*R-1];  // delays of activations
  logic [R-1:0] ss;                 // of swap
  logic [7:0] st [0:R-1];           // of tags
  logic signed [7:0] kv [0:C*C-1];  // of weights
  logic [31:0] dk [0:C*C-1];        // of results
  logic [A-1:0] moving;             // for how long there will be weights on their way

  // State moves in place, from the last stage to the first, so that each reads what its neighbour held before the edge;
  // nothing outside of this process sees it but through `y`.
  /* verilator lint_off BLKSEQ */
  task automatic collect; // column c waits for the C - 1 - c columns behind it
    for (int i = C - 1; i >= 1; i--) for (int c = 0; c < C; c++) dk[i*C+c] = dk[(i-1)*C+c];
    for (int c = 0; c < C; c++) dk[c] = ps[(R-1)*C+c];
  endtask

  task automatic multiply;
    for (int r = R - 1; r >= 0; r--) begin
      for (int c = C - 1; c >= 1; c--) av[r*C+c] = av[r*C+c-1];
      av[r*C] = r == 0 ? a_row[7:0] : sk[r*R+r-1];
      sw[r] = (sw[r] << 1) | {{(C-1){1'b0}}, r == 0 ? a_swap : ss[r-1]};
      if (sw[r] != 0) for (int c = 0; c < C; c++) if (sw[r][c]) wa[r*C+c] = ws[r*C+c];
      if (r == 0) for (int c = 0; c < C; c++) ps[c] = 32'(16'(av[c]) * 16'(wa[c]));
      else for (int c = 0; c < C; c++) ps[r*C+c] = ps[(r-1)*C+c] + 32'(16'(av[r*C+c]) * 16'(wa[r*C+c]));
    end
    for (int r = 1; r < R; r++) begin
      for (int i = r - 1; i >= 1; i--) sk[r*R+i] = sk[r*R+i-1];
      sk[r*R] = a_row[r*8 +: 8];
    end
    ss = (ss << 1) | {{(R-1){1'b0}}, a_swap};
  endtask

  task automatic load;
    for (int r = R - 1; r >= 1; r--) for (int c = 0; c < C; c++) wv[r*C+c] = wv[(r-1)*C+c];
    for (int c = 0; c < C; c++) wv[c] = c == 0 ? w_row[7:0] : kv[(c-1)*C+c];
    for (int i = C - 1; i >= 1; i--) for (int c = 0; c < C; c++) kv[i*C+c] = kv[(i-1)*C+c];
    for (int c = 0; c < C; c++) kv[c] = w_row[c*8 +: 8];
    for (int r = R - 1; r >= 0; r--) begin
      en[r] = (en[r] << 1) | {{(C-1){1'b0}}, (r == 0 ? w_tag : st[r-1]) == 8'(r + 1)};
      if (en[r] != 0) for (int c = 0; c < C; c++) if (en[r][c]) ws[r*C+c] = wv[r*C+c];
    end
    for (int r = R - 1; r >= 1; r--) st[r] = st[r-1];
    st[0] = w_tag;
  endtask

  task automatic clear;
    ss = 0;
    for (int r = 0; r < R; r++) begin
      sw[r] = 0;
      en[r] = 0;
      st[r] = 0;
    end
  endtask
  /* verilator lint_on BLKSEQ */

  always_ff @(posedge clk) begin
    if (rst) begin
      clear();
      moving <= 0;
    end else begin
      collect();
      multiply();
      if (w_tag != 0 || moving != 0) load();
      moving <= w_tag != 0 ? A'(R + C) : moving == 0 ? 0 : moving - 1;
      for (int c = 0; c < C; c++) y[c*32 +: 32] <= c == C - 1 ? ps[(R-1)*C+c] : dk[(C-2-c)*C+c];
    end
  end
endmodule
