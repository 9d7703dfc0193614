// For tests: assembles instructions with libiga64 and executes them as one hardware thread.
#include <dlfcn.h>

#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>

#include "../decode.hpp"
#include "../thread.hpp"

using namespace ishmem_emulator;
using namespace ishmem_emulator::eu;

namespace {

struct ContextOptions {
  size_t bytes;
  int platform;
};
struct AssembleOptions {
  uint32_t bytes, warnings, encoder, syntax, reserved[2], tokens, scoreboard;
};
struct Diagnostic {
  uint32_t line, column, offset, extent;
  const char* message;
};

template <class F>
F function(const char* name) {
  static void* library = dlopen("libiga64.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Failure(dlerror());
  return reinterpret_cast<F>(dlsym(library, name));
}

std::vector<char> assemble(int platform, const char* text) {
  void* context = nullptr;
  const ContextOptions options{sizeof options, platform};
  function<int (*)(const ContextOptions*, void**)>("iga_context_create")(&options, &context);
  const AssembleOptions assembly{sizeof assembly, 0, 0x10, 0, {}, 16, 0};
  void* code = nullptr;
  uint32_t size = 0;
  const int status = function<int (*)(void*, const AssembleOptions*, const char*, void**, uint32_t*)>(
      "iga_context_assemble")(context, &assembly, text, &code, &size);
  if (status) {
    const Diagnostic* errors = nullptr;
    uint32_t count = 0;
    function<int (*)(void*, const Diagnostic**, uint32_t*)>("iga_context_get_errors")(context, &errors, &count);
    throw Failure(count ? std::string("line ") + std::to_string(errors[0].line) + ": " + errors[0].message : "not assembled");
  }
  std::vector<char> bytes(static_cast<char*>(code), static_cast<char*>(code) + size);
  function<int (*)(void*)>("iga_context_release")(context);
  return bytes;
}

std::vector<char> assemble_kernel(int generation, const char* text) {
  const std::string end = "\n(W) send.gtwy (1|M0) null r127 null:0 0x0 0x02000010 {EOT}\nillegal\n";
  return assemble(generation / 100 == 12 ? iga::XeHpc : iga::Xe2, (text + end).c_str());
}

// Memory at the addresses from `base` on.
struct Flat : Space {
  uint64_t base;
  char* memory;
  uint64_t bytes;
  Flat(uint64_t base, char* memory, uint64_t bytes) : base(base), memory(memory), bytes(bytes) {}
  char* find(uint64_t address, uint64_t size, Access, uint64_t* extent) override {
    const uint64_t inside = address - base;
    if (inside > bytes || size > bytes - inside) return nullptr;
    if (extent) *extent = bytes - inside;
    return memory + inside;
  }
  uint64_t generation() const override { return 1; }
};

// The same, and a kernel at another address.
struct WithCode : Flat {
  Flat code;
  WithCode(char* memory, uint64_t bytes, std::vector<char>& kernel)
      : Flat(0x10000, memory, bytes), code(0x100000000, kernel.data(), kernel.size()) {}
  char* find(uint64_t address, uint64_t size, Access access, uint64_t* extent) override {
    return address >= code.base ? code.find(address, size, access, extent) : Flat::find(address, size, access, extent);
  }
};

}  // namespace

extern "C" {

// Executes `text` as `groups` thread groups on a card of one core with `slots` hardware threads. Returns 0, or 1 and the
// reason. Stops the walker after `patience` ms.
int eu_walk(int generation, int slots, uint64_t seed, const char* text, uint32_t groups, uint32_t threads, char* memory,
            uint64_t memory_bytes, int patience, char* error, size_t capacity) {
  try {
    std::vector<char> code = assemble_kernel(generation, text);
    WithCode space(memory, memory_bytes, code);
    Walker walker{};
    walker.kernel_start = space.code.base;
    walker.groups[0] = groups, walker.groups[1] = walker.groups[2] = 1;
    walker.simd = 16, walker.threads_per_group = threads, walker.slm_bytes = 1024;
    std::atomic<bool> stop{false};
    std::promise<Ended> promise;
    std::future<Ended> future = promise.get_future();
    ExecutionUnits units({generation, 1, 1, slots, 65536, seed});
    units.start(walker, space, stop, [&](Ended ended) { promise.set_value(std::move(ended)); });
    if (future.wait_for(std::chrono::milliseconds(patience)) != std::future_status::ready) stop = true;
    const Ended ended = future.get();
    if (!ended.ok) throw Failure(ended.why);
    return 0;
  } catch (const std::exception& failure) {
    snprintf(error, capacity, "%s", failure.what());
    return 1;
  }
}

// Executes `text` with these registers (256 of 64 bytes), flags, control register and active channels, which it updates.
// Memory is at address 0x10000. Returns 0, or 1 and the reason.
int eu_probe(int generation, const char* text, uint8_t* registers, uint32_t* flags, uint32_t* control, uint32_t active,
             char* memory, uint64_t memory_bytes, char* error, size_t capacity) {
  try {
    std::string why;
    const Iga* iga = Iga::get(&why);
    if (!iga) throw Failure(why);
    const int platform = generation / 100 == 12 ? iga::XeHpc : iga::Xe2;
    const std::vector<char> code = assemble_kernel(generation, text);
    const auto kernel = decode(*iga, platform, 0, code.data(), code.size());
    if (kernel->code.empty()) throw Failure("no end");
    Walker walker{};
    walker.simd = 32, walker.threads_per_group = 1, walker.scratch_bytes_per_thread = 4096;
    Flat space(0x10000, memory, memory_bytes);
    Translator translator;
    translator.use(space);
    Group group;
    group.walker = &walker, group.kernel = kernel.get(), group.memory = &translator;
    group.threads = group.running = 1;
    group.slm.resize(4096);
    auto thread = std::make_unique<Thread>();
    thread->begin(group, 0, 0, generation);
    memcpy(thread->registers, registers, place::kGeneralBytes);
    for (int k = 0; k < 4; ++k) thread->flag(k) = flags[k];
    thread->word(place::kControl) = *control;
    thread->active = thread->dispatch = thread->launched = active;
    std::fenv_t caller;
    std::fegetenv(&caller);
    try {
      for (int k = 0; k < 1000 && thread->state != State::Done; ++k) thread->run(1000);
      std::fesetenv(&caller);
    } catch (const Failure& failure) {
      std::fesetenv(&caller);
      throw Failure(kernel->text(kernel->code[thread->next - 1]) + ": " + failure.what());
    }
    memcpy(registers, thread->registers, place::kGeneralBytes);
    for (int k = 0; k < 4; ++k) flags[k] = thread->flag(k);
    *control = thread->word(place::kControl);
    return 0;
  } catch (const std::exception& failure) {
    snprintf(error, capacity, "%s", failure.what());
    return 1;
  }
}
}
