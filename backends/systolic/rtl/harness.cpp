// Runs programs on the generated hardware. Reads from standard input, for each program,
//   u32 instructions, u32 bytes of DRAM, u64 most cycles, the instructions, the DRAM
// and writes for each
//   u64 cycles, u32 trap, u32 code of the trap, u32 marks, (u32 unit, u32 tag, u64 cycle) for each, the DRAM.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "Vsystolic.h"
#include "verilated.h"

static const uint32_t ADDRESS = 15, HANG = 14;  // traps of the surroundings: outside of DRAM, no end

struct Mark {
  uint32_t unit, tag;
  uint64_t cycle;
};

template <typename T>
static bool bit(const T& bits, int i) {  // a port of any width
  return reinterpret_cast<const uint8_t*>(&bits)[i / 8] >> (i % 8) & 1;
}

static bool take(void* to, size_t bytes) { return fread(to, 1, bytes, stdin) == bytes; }

int main() {
  uint32_t count, bytes;
  uint64_t most;
  while (take(&count, 4)) {
    if (!take(&bytes, 4) || !take(&most, 8)) return 1;
    std::vector<uint8_t> program(16ull * count), dram(bytes);
    if (!take(program.data(), program.size()) || !take(dram.data(), dram.size())) return 1;
    VerilatedContext context;
    auto top = std::make_unique<Vsystolic>(&context);
    uint8_t answers[LATENCY][READ_BYTES] = {};
    bool waiting[LATENCY] = {};
    std::vector<Mark> marks;
    uint64_t cycle = 0;
    uint32_t trap = 0;
    auto edge = [&] {
      top->clk = 0;
      top->eval();
      top->clk = 1;
      top->eval();
    };
    top->rst = 1;
    top->rsp_v = 0;
    memset(&top->instr, 0, 16);
    edge();
    top->rst = 0;
    for (;; cycle++) {
      int slot = cycle % LATENCY;
      if (top->pc < count) memcpy(&top->instr, program.data() + 16ull * top->pc, 16);
      else memset(&top->instr, 0, 16);
      top->rsp_v = waiting[slot];
      memcpy(&top->rsp_d, answers[slot], READ_BYTES);
      top->clk = 0;
      top->eval();
      if (top->done) break;
      if (cycle == most) trap = HANG;
      if (top->wr_v)
        for (int b = 0; b < WRITE_BYTES; b++)
          if (bit(top->wr_m, b)) {
            uint32_t at = top->wr_a + b;
            if (at < bytes) dram[at] = reinterpret_cast<uint8_t*>(&top->wr_d)[b];
            else trap = ADDRESS;
          }
      waiting[slot] = top->rd_v;
      if (top->rd_v)
        for (int b = 0; b < READ_BYTES; b++)
          if (bit(top->rd_m, b)) {
            uint32_t at = top->rd_a + b;
            if (at < bytes) answers[slot][b] = dram[at];
            else trap = ADDRESS;
          }
      for (int u = 0; u < 5; u++)
        if (bit(top->mark_v, u)) {
          uint16_t tag;
          memcpy(&tag, reinterpret_cast<uint8_t*>(&top->mark_tag) + 2 * u, 2);
          marks.push_back({uint32_t(u), tag, cycle});
        }
      if (trap) break;
      top->clk = 1;
      top->eval();
    }
    uint32_t head[3] = {trap ? trap : top->trap, top->trap_code, uint32_t(marks.size())};
    fwrite(&cycle, 8, 1, stdout);
    fwrite(head, 4, 3, stdout);
    fwrite(marks.data(), sizeof(Mark), marks.size(), stdout);
    fwrite(dram.data(), 1, dram.size(), stdout);
    fflush(stdout);
  }
  return 0;
}
