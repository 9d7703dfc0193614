#include "residency.hpp"

#include <string>

namespace ishmem_emulator::eu {
namespace {

constexpr uint32_t kBarriersPerCore = 64;

}  // namespace

Residency::Residency(const CardModel& model)
    : threads_per_core_(static_cast<uint32_t>(model.eus_per_core * model.threads_per_eu)),
      slm_bytes_(static_cast<uint32_t>(model.slm_bytes_per_core)) {
  for (int core = 0; core < model.xe_cores; ++core) {
    cores_.push_back({{}, slm_bytes_, kBarriersPerCore});
    for (uint32_t slot = threads_per_core_; slot-- > 0;)
      cores_.back().free.push_back(static_cast<uint32_t>(core) * threads_per_core_ + slot);
  }
}

bool Residency::fits(const Walker& w, std::string* why) const {
  if (slots_for(w) <= threads_per_core_ && w.slm_bytes <= slm_bytes_ && w.barriers <= kBarriersPerCore) return true;
  *why = "a thread group of " + std::to_string(w.threads_per_group) + " threads with " + std::to_string(w.slm_bytes) +
         " bytes of local memory does not fit into an Xe core of " + std::to_string(threads_per_core_) + " threads and " +
         std::to_string(slm_bytes_) + " bytes";
  return false;
}

bool Residency::take(const Walker& w, Room& room) {
  const uint32_t wanted = slots_for(w);
  for (size_t k = 0; k < cores_.size(); ++k) {
    const size_t number = (next_ + k) % cores_.size();
    Core& core = cores_[number];
    if (core.free.size() < wanted || core.slm_bytes < w.slm_bytes || core.barriers < w.barriers) continue;
    room.core = static_cast<int>(number);
    room.slm_bytes = w.slm_bytes, room.barriers = w.barriers;
    room.slots.assign(core.free.end() - wanted, core.free.end());
    core.free.resize(core.free.size() - wanted);
    core.slm_bytes -= w.slm_bytes, core.barriers -= w.barriers;
    next_ = number + 1;
    return true;
  }
  return false;
}

void Residency::give_back(const Room& room) {
  Core& core = cores_[room.core];
  core.free.insert(core.free.end(), room.slots.begin(), room.slots.end());
  core.slm_bytes += room.slm_bytes, core.barriers += room.barriers;
}

}  // namespace ishmem_emulator::eu
