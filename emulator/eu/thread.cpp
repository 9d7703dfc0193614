#include "thread.hpp"

#include <pmmintrin.h>

#include <cfenv>

namespace ishmem_emulator::eu {
namespace {

constexpr uint32_t kBarrierCountShift = 24;
constexpr uint32_t kKeepDoubles = 1u << 6, kKeepSingles = 1u << 7, kKeepHalves = 1u << 10;

// In which order the three local IDs count: by what COMPUTE_WALKER calls the walk order.
void local_id(const Walker& w, uint32_t linear, uint32_t* id) {
  static const uint8_t orders[8][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 1, 2}, {0, 1, 2}};
  for (const uint8_t dimension : orders[w.walk_order & 7]) {
    const uint32_t size = w.local_size[dimension] ? w.local_size[dimension] : 1;
    id[dimension] = linear % size;
    linear /= size;
  }
}

// r1 and the next: 16-bit local IDs of the dimensions that are asked for. Returns the register after them.
int emit_local_ids(const Walker& w, Thread& t) {
  uint32_t ids[32][3];
  for (uint32_t k = 0; k < w.simd; ++k) local_id(w, t.index * w.simd + k, ids[k]);
  int place = place::kRegister;
  for (int dimension = 0; dimension < 3; ++dimension) {
    if (!(w.emit_local_id >> dimension & 1)) continue;
    for (uint32_t k = 0; k < w.simd; ++k) {
      const uint16_t id = static_cast<uint16_t>(ids[k][dimension]);
      memcpy(t.registers + place + 2 * k, &id, sizeof id);
    }
    place += place::kRegister;
  }
  return place;
}

// Where kernels look for the number of the hardware thread: fields of sr0.0, and on Xe2 the core's in msg0.0.
void set_hardware_thread(Thread& t, int generation) {
  const uint32_t thread = t.slot & 7, eu = t.slot >> 3 & 7, core = t.slot >> 6;
  if (generation / 100 == 20) {
    t.word(place::kState) = thread | eu << 4;
    t.word(place::kMessage) = core;
    return;
  }
  const uint32_t upper = (t.slot >> 3) << 4;  // bit 3 is not used, nor are bits 6 and 7
  const uint32_t number = thread | upper;
  t.word(place::kState) = (number & 63) | (number & ~63u) << 2;
}

void flush_denormals(bool flush) {
  _MM_SET_FLUSH_ZERO_MODE(flush ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
  _MM_SET_DENORMALS_ZERO_MODE(flush ? _MM_DENORMALS_ZERO_ON : _MM_DENORMALS_ZERO_OFF);
}

// For the next instruction of a thread that flushes denormals of some floats.
void choose_denormals(const Thread& t, const Instruction& i) {
  const uint32_t control = t.word(place::kControl);
  switch (i.floats) {
    case Floats::None: return;
    case Floats::Double: return flush_denormals(!(control & kKeepDoubles));
    case Floats::Single: return flush_denormals(!(control & kKeepSingles));
    case Floats::Half:
      if (!(control & kKeepHalves)) throw Failure("denormals of halves are to be flushed, which is not known");
      return flush_denormals(false);
  }
}

}  // namespace

char* Translator::find_other(uint64_t address, uint64_t bytes, Access access) {
  for (int k = 0; k < 8; ++k) {
    if (!entries_[k].has(address, bytes, access)) continue;
    last_ = k;
    return entries_[k].host + (address - entries_[k].address);
  }
  uint64_t extent = 0;
  char* host = space_->find(address, bytes, access, &extent);
  if (!host) return nullptr;
  last_ = next_;
  next_ = (next_ + 1) & 7;
  entries_[last_] = {address, extent < bytes ? bytes : extent, host, access};
  return host;
}

void apply_control(Thread& t) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const uint32_t control = t.word(place::kControl);
  const int mode = modes[control >> 4 & 3];
  if (std::fegetround() != mode) std::fesetround(mode);
  constexpr uint32_t kKeepAll = kKeepDoubles | kKeepSingles | kKeepHalves;
  t.flushes = (control & kKeepAll) != kKeepAll;
  if (!t.flushes) flush_denormals(false);
}

void Thread::begin(Group& of, uint32_t number, uint32_t hardware_slot, int generation) {
  const Walker& w = *of.walker;
  memset(registers, 0, sizeof registers);
  memset(products, 0, sizeof products);
  memset(exponents, 0, sizeof exponents);
  group = &of;
  index = number;
  slot = hardware_slot;
  uint32_t mask = w.simd == 32 ? ~0u : (1u << w.simd) - 1;
  if (number + 1 == of.threads && w.execution_mask) mask &= w.execution_mask;
  active = dispatch = launched = mask;
  widened = 0;
  for (int32_t& place : waiting_at) place = -1;
  next = 0;
  signalled = 0;
  state = State::Running;
  repeats = 0;
  branch_before = -1;
  word(place::kGeneral) = w.indirect_data_start;
  word(4) = of.id[0];
  word(8) = number | of.threads << kBarrierCountShift;
  word(24) = of.id[1];
  word(28) = of.id[2];
  const int inline_place = w.generate_local_id ? emit_local_ids(w, *this) : place::kRegister;
  if (w.emit_inline) memcpy(registers + inline_place, w.inline_data, 32);
  set_hardware_thread(*this, generation);
}

bool Thread::is_released() {
  for (uint32_t left = signalled; left; left &= left - 1) {
    const int id = __builtin_ctz(left);
    if (group->barriers[id].generation != seen[id]) signalled &= ~(1u << id);
  }
  return !signalled;
}

uint64_t Thread::run(uint64_t most) {
  if (state == State::Waiting && !is_released()) return 0;
  state = State::Running;
  apply_control(*this);
  repeats = 0;
  const Instruction* code = group->kernel->code.data();
  const int32_t end = static_cast<int32_t>(group->kernel->code.size());
  uint64_t done = 0;
  while (done < most && state == State::Running) {
    if (next >= end) throw Failure("the kernel goes on behind its last instruction");
    const Instruction& i = code[next++];
    if (flushes) choose_denormals(*this, i);
    i.execute(*this, i);
    ++done;
  }
  return done;
}

}  // namespace ishmem_emulator::eu
