// USM of this process outside its symmetric heap, as the host sees it: one mapping per allocation of the driver.
//
// Python makes and unmaps the mappings (ishmem/runtime/private_memory.py); here they are found by address. An address
// may be of another allocation than when the mapping was made, so each use compares the driver's id of the allocation.
// All functions are called with the interpreter's lock held.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ishmem {

// ze_memory_allocation_properties_t
struct AllocationProperties {
    uint32_t stype = 0x17;
    void *next = nullptr;
    uint32_t type = 0;  // 0: no allocation of this context
    uint64_t id = 0;
    uint64_t page_size = 0;
};

enum class Access { Read, Write };  // by the host

class PrivateMemory {
public:
    using Query = int (*)(void *context, const void *address, AllocationProperties *properties, void **device);

    // From so many bytes on the copy engine reads, and writes.
    void configure(Query query, void *context, size_t read_cutover, size_t write_cutover);
    void clear();

    // Host address of a private range; null when it has no mapping or the copy engine is to copy it.
    char *place(const char *address, size_t bytes, Access access);

    // Registers the mapping of an allocation; the address itself where the host reaches it without one.
    void add(char *base, size_t size, uint64_t id, char *mapped);

    // Forgets allocations that are freed, then those used longest ago until one of `more` bytes fits into the bounds.
    // Gives the ids of those forgotten, and whether one fits: nothing is forgotten while a copy runs without the lock.
    std::pair<std::vector<uint64_t>, bool> make_room(size_t more, size_t most_bytes, size_t most);

    // Exists while a copy may run without the interpreter's lock.
    struct Use {
        Use();
        ~Use();
        Use(const Use &) = delete;
        Use &operator=(const Use &) = delete;
    };

private:
    struct Entry {
        size_t size;
        uint64_t id;
        char *mapped;
        uint64_t used;
    };

    uint64_t id_of(const char *address) const;
    bool is_plain(const char *base, const Entry &entry) const { return entry.mapped == base; }
    size_t held() const;

    Query query_ = nullptr;
    void *context_ = nullptr;
    size_t read_cutover_ = 0, write_cutover_ = 0;
    std::map<const char *, Entry> entries_;  // by base
    uint64_t clock_ = 0;
    int uses_ = 0;
};

PrivateMemory &private_memory();

}  // namespace ishmem
