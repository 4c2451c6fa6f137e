  // f32 to nearest even, without numbers below 2^-126, which are too small to matter for any byte
  function automatic logic [31:0] f_int(input logic [31:0] value);
    logic [31:0] m;
    logic [7:0] e;
    logic [24:0] r;
    begin
      m = value[31] ? -value : value;
      e = 127 + 31;
      if (m[31:16] == 0) begin m = m << 16; e = e - 16; end
      if (m[31:24] == 0) begin m = m << 8; e = e - 8; end
      if (m[31:28] == 0) begin m = m << 4; e = e - 4; end
      if (m[31:30] == 0) begin m = m << 2; e = e - 2; end
      if (!m[31]) begin m = m << 1; e = e - 1; end
      r = {1'b0, m[31:8]} + {24'd0, m[7] && (m[8] || m[6:0] != 0)};
      if (r[24]) e = e + 1; // the fraction is 0 then
      f_int = m[31] ? {value[31], e, r[22:0]} : 0;
    end
  endfunction

  function automatic logic [31:0] f_mul(input logic [31:0] a, input logic [31:0] b);
    logic [47:0] p;
    logic [24:0] r;
    logic signed [10:0] e;
    begin
      p = {1'b1, a[22:0]} * {1'b1, b[22:0]};
      e = {3'd0, a[30:23]} + {3'd0, b[30:23]} - 127;
      if (p[47]) e = e + 1;
      else p = p << 1;
      r = {1'b0, p[47:24]} + {24'd0, p[23] && (p[24] || p[22:0] != 0)};
      if (r[24]) e = e + 1;
      f_mul = a[30:23] == 0 || b[30:23] == 0 || e <= 0 ? 0 : {a[31] ^ b[31], e[7:0], r[22:0]};
    end
  endfunction

  function automatic logic [31:0] f_add(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] big, less;
    logic [27:0] m, n; // carry, 24 bits, guard, round, sticky
    logic [7:0] d;
    logic signed [9:0] e;
    logic [24:0] r;
    begin
      big = a[30:0] >= b[30:0] ? a : b;
      less = a[30:0] >= b[30:0] ? b : a;
      d = big[30:23] - less[30:23];
      m = {1'b0, big[30:23] != 0, big[22:0], 3'd0};
      n = {1'b0, less[30:23] != 0, less[22:0], 3'd0};
      if (d > 26) n = {27'd0, less[30:23] != 0};
      else n = (n >> d) | {27'd0, (n & ~(28'hfffffff << d)) != 0};
      m = big[31] == less[31] ? m + n : m - n;
      e = {2'd0, big[30:23]};
      if (m[27]) begin
        m = {1'b0, m[27:2], m[1] | m[0]};
        e = e + 1;
      end else begin
        if (m[26:11] == 0) begin m = m << 16; e = e - 16; end
        if (m[26:19] == 0) begin m = m << 8; e = e - 8; end
        if (m[26:23] == 0) begin m = m << 4; e = e - 4; end
        if (m[26:25] == 0) begin m = m << 2; e = e - 2; end
        if (!m[26]) begin m = m << 1; e = e - 1; end
      end
      r = {1'b0, m[26:3]} + {24'd0, m[2] && (m[3] || m[1:0] != 0)};
      if (r[24]) e = e + 1;
      f_add = !m[26] || e <= 0 ? 0 : {big[31], e[7:0], r[22:0]};
    end
  endfunction

  // to an integer, to nearest even, plus the zero point, limited
  function automatic logic [7:0] f_byte(
    input logic [31:0] f, input logic [7:0] zero, input logic [7:0] lo, input logic [7:0] hi
  );
    logic [23:0] m;
    logic [48:0] s; // 24 bits before the point, 25 behind
    logic signed [31:0] i;
    begin
      m = {1'b1, f[22:0]};
      s = 0;
      if (f[30:23] >= 127 + 20) i = 1 << 20;
      else begin
        if (f[30:23] >= 126) s = {m, 25'd0} >> (8'd150 - f[30:23]);
        i = {8'd0, s[48:25]} + {31'd0, s[24] && (s[25] || s[23:0] != 0)};
      end
      if (f[31]) i = -i;
      i = i + 32'($signed(zero));
      if (i < 32'($signed(lo))) i = 32'($signed(lo));
      if (i > 32'($signed(hi))) i = 32'($signed(hi));
      f_byte = i[7:0];
    end
  endfunction
