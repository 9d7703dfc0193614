#include "private_memory.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <iterator>

#include "network_engine.hpp"

namespace nb = nanobind;

namespace ishmem {

PrivateMemory &private_memory() {
    static PrivateMemory &only = *new PrivateMemory;  // never destroyed, like the heap
    return only;
}

PrivateMemory::Use::Use() { ++private_memory().uses_; }
PrivateMemory::Use::~Use() { --private_memory().uses_; }

void PrivateMemory::configure(Query query, void *context, size_t read_cutover, size_t write_cutover) {
    query_ = query;
    context_ = context;
    read_cutover_ = read_cutover;
    write_cutover_ = write_cutover;
}

void PrivateMemory::clear() {
    entries_.clear();
    query_ = nullptr;
}

// Returns the allocation id of an address; 0 for memory unknown to the driver. The driver never reuses ids.
uint64_t PrivateMemory::id_of(const char *address) const {
    AllocationProperties properties;
    return query_(context_, address, &properties, nullptr) == 0 && properties.type ? properties.id : 0;
}

char *PrivateMemory::host_address(const char *address, size_t bytes, Access access) {
    auto next = entries_.upper_bound(address);
    if (next == entries_.begin()) return nullptr;
    auto &[base, entry] = *std::prev(next);
    const size_t offset = static_cast<size_t>(address - base);
    if (offset >= entry.size || bytes > entry.size - offset) return nullptr;
    const size_t cutover = access == Access::Read ? read_cutover_ : write_cutover_;
    if (bytes >= cutover && !is_plain(base, entry)) return nullptr;
    if (id_of(address) != entry.id) return nullptr;
    entry.used = ++clock_;
    return entry.mapped + offset;
}

void PrivateMemory::add(char *base, size_t size, uint64_t id, char *mapped) {
    entries_[base] = Entry{size, id, mapped, ++clock_};
}

size_t PrivateMemory::held() const {
    size_t bytes = 0;
    for (const auto &[base, entry] : entries_) bytes += is_plain(base, entry) ? 0 : entry.size;
    return bytes;
}

std::pair<std::vector<uint64_t>, bool> PrivateMemory::make_room(size_t more, size_t most_bytes, size_t most) {
    std::vector<uint64_t> forgotten;
    if (uses_ > 0 || (network_engine() && network_engine()->background.pending)) return {forgotten, false};
    for (auto it = entries_.begin(); it != entries_.end();) {
        const bool freed = id_of(it->first) != it->second.id;
        if (freed) forgotten.push_back(it->second.id);
        it = freed ? entries_.erase(it) : std::next(it);
    }
    const auto full = [&] { return held() + more > most_bytes || entries_.size() >= most; };
    while (!entries_.empty() && more <= most_bytes && full()) {
        auto oldest = entries_.begin();
        for (auto it = entries_.begin(); it != entries_.end(); ++it)
            if (it->second.used < oldest->second.used) oldest = it;
        forgotten.push_back(oldest->second.id);
        entries_.erase(oldest);
    }
    return {forgotten, !full()};
}

void bind_private_memory(nb::module_ &m) {
    m.def("private_configure", [](uintptr_t query, uintptr_t context, size_t read_cutover, size_t write_cutover) {
        private_memory().configure(reinterpret_cast<PrivateMemory::Query>(query), reinterpret_cast<void *>(context), read_cutover, write_cutover);
    });
    m.def("private_clear", [] { private_memory().clear(); });
    m.def("private_add", [](uintptr_t base, size_t size, uint64_t id, uintptr_t mapped) {
        private_memory().add(reinterpret_cast<char *>(base), size, id, reinterpret_cast<char *>(mapped));
    });
    m.def("private_make_room", [](size_t more, size_t most_bytes, size_t most) {
        return private_memory().make_room(more, most_bytes, most);
    });
    m.def("private_place", [](uintptr_t address, size_t bytes) {
        return reinterpret_cast<uintptr_t>(private_memory().host_address(reinterpret_cast<const char *>(address), bytes, Access::Read));
    });
}

}  // namespace ishmem
