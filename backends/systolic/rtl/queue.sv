// A queue of instructions: pushed in one cycle, at its head the next.
module systolic_queue #(
  parameter WIDTH = 128,
  parameter DEPTH = 8
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             push,
  input  logic             pop,
  input  logic [WIDTH-1:0] in,
  output logic [WIDTH-1:0] head,
  output logic             ready,
  output logic             full
);
  localparam A = $clog2(DEPTH);
  localparam [A-1:0] LAST = A'(DEPTH - 1);
  logic [WIDTH-1:0] words [0:DEPTH-1];
  logic [A-1:0] first, next;
  logic [A:0] count;

  assign head = words[first];
  assign ready = count != 0;
  assign full = count == (A + 1)'(DEPTH);

  always_ff @(posedge clk) begin
    if (push) words[next] <= in;
    if (rst) begin
      first <= 0;
      next <= 0;
      count <= 0;
    end else begin
      if (push) next <= next == LAST ? 0 : next + 1;
      if (pop) first <= first == LAST ? 0 : first + 1;
      if (push && !pop) count <= count + 1;
      if (pop && !push) count <= count - 1;
    end
  end
endmodule

// The semaphores: counted up and down by each unit, all in one cycle; seen a cycle later.
module systolic_semaphores (
  input  logic        clk,
  input  logic        rst,
  input  logic [79:0] up,
  input  logic [79:0] down,
  output logic [15:0] ready,
  output logic        overflow
);
  logic [127:0] counts; // 8 bits each
  logic [15:0] any_up, any_down;
  assign any_up = up[15:0] | up[31:16] | up[47:32] | up[63:48] | up[79:64];
  assign any_down = down[15:0] | down[31:16] | down[47:32] | down[63:48] | down[79:64];
  always_comb begin
    for (int i = 0; i < 16; i++) ready[i] = counts[i*8 +: 8] != 0;
  end
  always_comb begin
    overflow = 0;
    for (int i = 0; i < 16; i++) begin
      if (any_up[i] && !any_down[i] && counts[i*8 +: 8] == 255) overflow = 1;
    end
  end
  always_ff @(posedge clk) begin
    if (rst) counts <= 0;
    else for (int i = 0; i < 16; i++)
      counts[i*8 +: 8] <= counts[i*8 +: 8] + {7'd0, any_up[i]} - {7'd0, any_down[i]};
  end
endmodule
