#include "address_space.hpp"

#include <mutex>
#include <new>

namespace ishmem_emulator {

namespace {

// The mappings that a thread looked up last.
struct Recent {
  struct Entry {
    uint64_t start = 0, size = 0;
    char *host = nullptr;
    bool writable = false, atomics = false;
  };
  uint64_t space = 0, generation = 0;
  Entry entries[4];
  unsigned next = 0;
};

thread_local Recent recent;

template <typename Entry>
bool allows(const Entry &entry, Access access) {
  return access == Access::Read || (entry.writable && (access == Access::Write || entry.atomics));
}

}  // namespace

uint64_t AddressSpace::nextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

bool AddressSpace::holds(uint64_t address, uint64_t size) const {
  uint64_t above = address & ~mask_;
  bool canonical = above == 0 || above == ~mask_;
  return canonical && size <= mask_ + 1 - (address & mask_);
}

char *AddressSpace::find(uint64_t address, uint64_t bytes, Access access, uint64_t *extent) {
  if (!holds(address, bytes)) return nullptr;
  address &= mask_;
  uint64_t now = generation();
  if (recent.space != id_ || recent.generation != now) recent = Recent{id_, now, {}, 0};
  auto within = [&](const Recent::Entry &entry) {
    return address >= entry.start && address - entry.start < entry.size &&
           bytes <= entry.size - (address - entry.start);
  };
  Recent::Entry found;
  for (const Recent::Entry &entry : recent.entries)
    if (within(entry)) found = entry;
  if (!found.size) {
    std::shared_lock<std::shared_mutex> lock(lock_);
    auto after = mappings_.upper_bound(address);
    if (after == mappings_.begin()) return nullptr;
    const auto &[start, mapping] = *std::prev(after);
    found = {start, mapping.size, mapping.host, mapping.writable, mapping.atomics};
    if (!within(found)) return nullptr;
    // A mapping that has just been replaced is found anew by the next lookup.
    if (generation() == now) recent.entries[recent.next++ % 4] = found;
  }
  if (!allows(found, access)) return nullptr;
  if (extent) *extent = found.size - (address - found.start);
  return found.host + (address - found.start);
}

// Splits the mapping that reaches across the address.
void AddressSpace::cutAt(uint64_t address) {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return;
  auto &[start, mapping] = *std::prev(after);
  uint64_t before = address - start;
  if (before == 0 || before >= mapping.size) return;
  Mapping rest = mapping;
  rest.size -= before;
  rest.host += before;
  mapping.size = before;
  mappings_.emplace(address, rest);
}

void AddressSpace::remove(uint64_t address, uint64_t size) {
  cutAt(address);
  cutAt(address + size);
  auto first = mappings_.lower_bound(address), last = mappings_.lower_bound(address + size);
  if (first == last) return;
  for (auto at = first; at != last; ++at)
    if (at->second.buffer) retired_.push_back(at->second.buffer), anyRetired_ = true;
  mappings_.erase(first, last);
  generation_.fetch_add(1, std::memory_order_acq_rel);
}

void AddressSpace::map(uint64_t address, Mapping mapping) {
  Use use(*this);
  std::lock_guard<std::shared_mutex> lock(lock_);
  remove(address & mask_, mapping.size);
  mappings_.emplace(address & mask_, std::move(mapping));
}

void AddressSpace::unmap(uint64_t address, uint64_t size) {
  Use use(*this);
  std::lock_guard<std::shared_mutex> lock(lock_);
  remove(address & mask_, size);
}

void AddressSpace::unmapAll(const Buffer &buffer) {
  Use use(*this);
  std::lock_guard<std::shared_mutex> lock(lock_);
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (const auto &[start, mapping] : mappings_)
    if (mapping.buffer.get() == &buffer) found.emplace_back(start, mapping.size);
  for (const auto &[start, size] : found) remove(start, size);
}

void AddressSpace::endUse() {
  if (--users_ > 0 || !anyRetired_) return;
  std::vector<std::shared_ptr<Buffer>> unused;  // let go without the lock: munmap takes its time
  std::lock_guard<std::shared_mutex> lock(lock_);
  if (users_ == 0) unused.swap(retired_), anyRetired_ = false;
}

void AddressSpace::forgetThreads() {
  new (&lock_) std::shared_mutex;
  users_ = 0;
}

}  // namespace ishmem_emulator
