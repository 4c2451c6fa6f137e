// Fetches and decodes one instruction a cycle, resolves addresses and configuration, and hands it to its unit.
module systolic_dispatch #(
  parameter R = 4,
  parameter C = 4,
  parameter W = 4
) (
  input  logic         clk,
  input  logic         rst,
  output logic [31:0]  pc,
  input  logic [127:0] instr,
  input  logic [4:0]   full,
  input  logic         idle,
  input  logic         overflow,
  input  logic [4:0]   bad_row,
  input  logic         bad_factor,
  output logic [4:0]   push,
  output logic [127:0] word,
  output logic [255:0] cfgs,
  output logic [15:0]  tab,
  output logic         done,
  output logic [3:0]   trap,
  output logic [15:0]  trap_code
);
  localparam [3:0] ILLEGAL = 1, LENGTH = 2, LOOP = 3, WINDOW = 4, ROW = 5, SEMAPHORE = 6, FACTOR = 7, ASKED = 8;
  // registers hold 0 until they are written
  logic [31:0] registers [0:15];
  logic [63:0] configs [0:31];
  logic [15:0] has_register;
  logic [31:0] has_config;
  logic [11:0] uses;    // the registers of three addresses
  logic [95:0] offsets; // what they hold
  logic [19:0] reads;   // the registers of four layouts
  logic [255:0] values;
  logic [31:0] loop_pc [0:2];
  logic [15:0] loop_left [0:2];
  logic [1:0] depth;
  logic [4:0] unit;
  logic illegal, too_long, no_window, no_factor, go;
  logic [3:0] op;
  assign op = instr[3:0];

  systolic_decoder decoder (
    .instr, .uses, .offsets, .reads, .values, .unit, .word, .cfgs, .tab, .illegal
  );
  for (genvar i = 0; i < 3; i++) begin : each_offset
    logic [3:0] which;
    assign which = uses[i*4 +: 4];
    assign offsets[i*32 +: 32] = has_register[which] ? registers[which] : 0;
  end
  for (genvar i = 0; i < 4; i++) begin : each_value
    logic [4:0] which;
    assign which = reads[i*5 +: 5];
    assign values[i*64 +: 64] = has_config[which] ? configs[which] : 0;
  end

  assign too_long = (op == `OP_LD && instr[`LD_LEN] > (instr[`LD_TO] == 0 || instr[`LD_TO] == 3 ? 8'(W) : 8'(C)))
    || (op == `OP_WL && instr[`WL_ROWS] > 8'(R))
    || (op == `OP_ST && instr[`ST_LEN] > (instr[`ST_SOURCE] ? 8'(C) : 8'(W)));
  assign no_window = op == `OP_VE && (cfgs[`GEN_K0] == 0 || cfgs[`GEN_K1] == 0);
  assign no_factor = op == `OP_VE && instr[`VE_KIND] == 3
    && (cfgs[192+23 +: 8] >= 191 || cfgs[224+23 +: 8] >= 191 || cfgs[128+32+23 +: 8] >= 191);
  assign go = !done && !illegal && !too_long && !no_window && !no_factor;
  assign push = go && (unit & full) == 0 ? unit : 5'd0;

  // an address register after `ar`
  logic [31:0] old, sum, moved;
  assign old = instr[`AR_SET] || !has_register[instr[`AR_REG]] ? 0 : registers[instr[`AR_REG]];
  assign sum = old + instr[`AR_DELTA];
  assign moved = instr[`AR_MODULUS] != 0 && sum >= instr[`AR_MODULUS] ? sum - instr[`AR_MODULUS] : sum;

  always_ff @(posedge clk) begin
    if (rst) begin
      pc <= 0;
      depth <= 0;
      done <= 0;
      trap <= 0;
      trap_code <= 0;
      has_register <= 0;
      has_config <= 0;
    end else if (!done) begin
      if (illegal || too_long || no_window || no_factor) begin
        done <= 1;
        trap <= illegal ? ILLEGAL : too_long ? LENGTH : no_window ? WINDOW : FACTOR;
      end else if (unit != 0) begin
        if (push != 0) pc <= pc + 1;
      end else begin
        pc <= pc + 1;
        case (op)
          `OP_CFG: begin
            configs[instr[`CFG_REG]] <= instr[`CFG_VALUE];
            has_config[instr[`CFG_REG]] <= 1;
          end
          `OP_AR: begin
            registers[instr[`AR_REG]] <= moved;
            has_register[instr[`AR_REG]] <= 1;
          end
          `OP_LOOP: begin
            if (depth == 3) begin
              done <= 1;
              trap <= LOOP;
            end else begin
              loop_pc[depth] <= pc + 1;
              loop_left[depth] <= instr[`LOOP_COUNT];
              depth <= depth + 1;
            end
          end
          `OP_END: begin
            if (depth == 0) begin
              done <= 1;
              trap <= LOOP;
            end else if (loop_left[depth - 1] > 1) begin
              loop_left[depth - 1] <= loop_left[depth - 1] - 1;
              pc <= loop_pc[depth - 1];
            end else depth <= depth - 1;
          end
          `OP_TRAP: begin
            done <= 1;
            trap <= ASKED;
            trap_code <= instr[`TRAP_CODE];
          end
          default: begin // bar, halt
            if (!idle) pc <= pc;
            else if (op == `OP_HALT) done <= 1;
          end
        endcase
      end
      if (overflow || bad_row != 0 || bad_factor) begin
        done <= 1;
        trap <= overflow ? SEMAPHORE : bad_factor ? FACTOR : ROW;
      end
    end
  end
endmodule
