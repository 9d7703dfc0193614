// A command streamer: it fetches packets from a batch and executes them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "context.hpp"
#include "registers.hpp"

namespace ishmem_emulator {

// A packet, with its words copied.
struct Packet {
  const char *name;
  uint64_t address;
  std::vector<uint32_t> words;

  uint32_t operator[](size_t word) const { return words[word]; }
  uint32_t bits(size_t word, unsigned low, unsigned high) const {
    return (uint32_t)((uint64_t)words[word] >> low & ((1ull << (high - low + 1)) - 1));
  }
  bool bit(size_t word, unsigned at) const { return words[word] >> at & 1; }
  uint64_t qword(size_t word) const { return words[word] | (uint64_t)words[word + 1] << 32; }
  uint64_t pointer(size_t word) const { return qword(word) & ~3ull; }
};

// What earlier packets set for the kernels of later ones.
struct State {
  uint64_t generalBase = 0, surfaceBase = 0, instructionBase = 0;
  uint32_t scratch = 0;  // surface state of the scratch memory, as CFE_STATE gives it
  bool largeGrf = false;
};

class Streamer {
 public:
  explicit Streamer(std::shared_ptr<Context> context) : shared(std::move(context)), context(*shared) {}

  // Follows a batch to its end, or until the context is stopped. Throws CommandError.
  void run(uint64_t batch);

  const std::shared_ptr<Context> shared;
  Context &context;
  Registers registers;
  State state;
  bool skips = false;  // MI_SET_PREDICATE: the commands that heed it do nothing

  // For packets: go on at an address; go there and come back; end the batch, or the called one.
  void jump(uint64_t address) { next_ = address; }
  void call(uint64_t address);
  void endBatch();

 private:
  Packet fetch(uint64_t address);
  void step(Packet &packet);

  uint64_t next_ = 0;
  bool ended_ = false;
  std::vector<uint64_t> callers_;
};

}  // namespace ishmem_emulator
