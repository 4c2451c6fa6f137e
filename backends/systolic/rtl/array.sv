// The array: R x C products and sums, weight-stationary, fed by rows and read by rows.
//
// A row of activations enters with byte r delayed by r cycles, moves to the right, and meets the sums that move down.
// A row of weights enters with byte c delayed by c cycles and moves down with the number of the row it is for; there it
// is kept in the shadow. `swap` moves along with the first activations that need the shadow. A row that
// stands at `a_row` in cycle s is summed up in `y` in cycle s + R + C - 1.
module systolic_array #(
  parameter R = 4,
  parameter C = 4
) (
  input  logic            clk,
  input  logic            rst,
  input  logic            a_swap,
  input  logic [R*8-1:0]  a_row,
  input  logic [7:0]      w_tag, // 1 + the row of the array; 0: none
  input  logic [C*8-1:0]  w_row,
  output logic [C*32-1:0] y
);
  logic signed [7:0] av [0:R*C-1];  // activations
  logic [7:0] sv [0:R*C-1];         // swap, as a mask
  logic signed [7:0] wa [0:R*C-1];  // weights in use
  logic signed [7:0] ws [0:R*C-1];  // their shadow
  logic signed [31:0] ps [0:R*C-1]; // sums
  logic signed [7:0] wv [0:R*C-1];  // weights on their way down
  logic [7:0] wt [0:R*C-1];         // and for which row
  logic signed [7:0] sk [0:R*R-1];  // delays of activations
  logic [7:0] ss [0:R-1];           // delays of swap
  logic signed [7:0] kv [0:C*C-1];  // delays of weights
  logic [7:0] kt [0:C*C-1];
  logic [31:0] dk [0:C*C-1];        // delays of results

  // State moves in place, from the last stage to the first, so that each reads what its neighbour held before the edge;
  // nothing outside of this process sees it but through `y`.
  /* verilator lint_off BLKSEQ */
  always_ff @(posedge clk) begin
    if (rst) begin
      for (int i = 0; i < R * C; i++) begin
        sv[i] = 0;
        wt[i] = 0;
      end
      for (int i = 0; i < R; i++) ss[i] = 0;
      for (int i = 0; i < C * C; i++) kt[i] = 0;
    end else begin
      // results: column c waits for the C - 1 - c columns behind it
      for (int i = C - 1; i >= 1; i--) for (int c = 0; c < C; c++) dk[i*C+c] = dk[(i-1)*C+c];
      for (int c = 0; c < C; c++) dk[c] = ps[(R-1)*C+c];
      // products and sums
      for (int r = R - 1; r >= 0; r--) begin
        for (int c = C - 1; c >= 1; c--) begin
          av[r*C+c] = av[r*C+c-1];
          sv[r*C+c] = sv[r*C+c-1];
        end
        av[r*C] = r == 0 ? a_row[7:0] : sk[r*R+r-1];
        sv[r*C] = r == 0 ? {8{a_swap}} : ss[r-1];
        for (int c = 0; c < C; c++) wa[r*C+c] = (ws[r*C+c] & sv[r*C+c]) | (wa[r*C+c] & ~sv[r*C+c]);
        if (r == 0) for (int c = 0; c < C; c++) ps[c] = 32'(16'(av[c]) * 16'(wa[c]));
        else for (int c = 0; c < C; c++) ps[r*C+c] = ps[(r-1)*C+c] + 32'(16'(av[r*C+c]) * 16'(wa[r*C+c]));
      end
      for (int r = 1; r < R; r++) begin
        for (int i = R - 1; i >= 1; i--) sk[r*R+i] = sk[r*R+i-1];
        sk[r*R] = a_row[r*8 +: 8];
      end
      for (int r = R - 1; r >= 1; r--) ss[r] = ss[r-1];
      ss[0] = {8{a_swap}};
      // weights
      for (int r = R - 1; r >= 1; r--) for (int c = 0; c < C; c++) begin
        wv[r*C+c] = wv[(r-1)*C+c];
        wt[r*C+c] = wt[(r-1)*C+c];
      end
      for (int c = 0; c < C; c++) begin
        wv[c] = c == 0 ? w_row[7:0] : kv[(c-1)*C+c];
        wt[c] = c == 0 ? w_tag : kt[(c-1)*C+c];
      end
      for (int i = C - 1; i >= 1; i--) for (int c = 0; c < C; c++) begin
        kv[i*C+c] = kv[(i-1)*C+c];
        kt[i*C+c] = kt[(i-1)*C+c];
      end
      for (int c = 0; c < C; c++) begin
        kv[c] = w_row[c*8 +: 8];
        kt[c] = w_tag;
      end
      for (int r = 0; r < R; r++) for (int c = 0; c < C; c++) if (wt[r*C+c] == 8'(r + 1)) ws[r*C+c] = wv[r*C+c];
      for (int c = 0; c < C; c++) y[c*32 +: 32] <= c == C - 1 ? ps[(R-1)*C+c] : dk[(C-2-c)*C+c];
    end
  end
  /* verilator lint_on BLKSEQ */
endmodule
