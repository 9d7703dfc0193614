// The execution units of an emulated card: what the rest of the emulator needs to know of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ishmem_emulator {

enum class Access { Read, Write, Atomic };

// An address space, as a kernel sees it. Thread-safe.
struct Space {
  virtual ~Space() = default;
  // Host address of `bytes` contiguous bytes at the GPU address, or nullptr where they are not mapped.
  // `extent` (if not null) receives how many bytes from `address` on are contiguous in the host.
  virtual char* find(uint64_t address, uint64_t bytes, Access access, uint64_t* extent = nullptr) = 0;
  // Changes with each unmapping; lookups may be cached while it stays.
  virtual uint64_t generation() const = 0;
};

// What COMPUTE_WALKER and the state before it say.
struct Walker {
  uint64_t kernel_start;  // GPU address of the first instruction
  uint64_t general_state_base;
  uint32_t indirect_data_start, indirect_data_length;
  uint32_t groups[3], group_start[3], local_size[3];
  uint32_t simd;  // 8, 16 or 32
  uint32_t threads_per_group, execution_mask;
  uint32_t emit_local_id, walk_order;
  bool generate_local_id, emit_inline;
  uint32_t inline_data[16];  // 8 words on Xe2 and Xe-HPC
  uint32_t slm_bytes, barriers;
  uint32_t scratch_bytes_per_thread;
  bool large_grf;
};

struct CardModel {
  int generation;  // major * 100 + minor: 1260 is Xe-HPC, 2001 and 2004 are Xe2
  int xe_cores, eus_per_core, threads_per_eu, slm_bytes_per_core;
  uint64_t seed;  // of the order of threads; 0: round robin
};

struct Ended {
  bool ok;
  std::string why;  // kernel, instruction, address, group and thread, in one line
};

// Those of one device in this process.
class ExecutionUnits {
 public:
  explicit ExecutionUnits(const CardModel&);
  ~ExecutionUnits();
  ExecutionUnits(const ExecutionUnits&) = delete;
  ExecutionUnits& operator=(const ExecutionUnits&) = delete;

  // Start the thread groups of a walker; `ended` is called once, from a thread of the units. Walkers of all queues share
  // the hardware threads.
  void start(const Walker&, Space&, const std::atomic<bool>& stop, std::function<void(Ended)> ended);

  // What commands do that flush or invalidate the caches.
  void flush_caches();

 private:
  class Pool;
  CardModel model_;
  Pool* pool_;
};

}  // namespace ishmem_emulator
