// What a queue's command streamer, the kernels that it started, and the ioctls share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "../memory/address_space.hpp"

namespace ishmem_emulator {

enum EngineKind : unsigned { Render = 1, Copy = 2, Compute = 4 };

struct Engine {
  int card, tile;
  EngineKind kind;
  int instance;
};

std::string nameOf(const Engine &engine);

// What ends a context: a page fault, or a command that the card does not have.
struct CommandError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Context {
 public:
  Context(Engine engine, std::shared_ptr<AddressSpace> space) : engine(engine), space(std::move(space)) {}

  const Engine engine;
  const std::shared_ptr<AddressSpace> space;

  // Host addresses, and accesses as one. Throw CommandError for a page fault.
  char *at(uint64_t address, uint64_t bytes, Access access, uint64_t *extent = nullptr);
  uint32_t load32(uint64_t address);
  uint64_t load64(uint64_t address);
  void store32(uint64_t address, uint32_t value);
  void store64(uint64_t address, uint64_t value);

  // Ends the context for good, with a line on stderr. Later calls do nothing.
  void ban(const std::string &why);
  bool banned() const { return banned_; }
  // Ends what runs, without a word.
  void stop();
  const std::atomic<bool> &stopped() const { return stopped_; }

  void kernelStarts();
  void kernelEnds();
  void waitForKernels();  // or until the context is stopped
  void waitForAllKernels();

 private:
  std::atomic<bool> banned_{false}, stopped_{false};
  std::mutex lock_;
  std::condition_variable changed_;
  int kernels_ = 0;
};

// The card's timestamp, which all engines count.
uint64_t timestamp();

// Pauses that grow with the number of looks without success, up to a bound.
class Pause {
 public:
  void once();

 private:
  unsigned looks_ = 0;
};

}  // namespace ishmem_emulator
