// Host mappings of this process's USM outside its symmetric heap: one mapping per allocation of the driver.
//
// Python makes and unmaps the mappings (ishmem/runtime/private_memory.py); this class finds them by address. The
// driver can reuse an address for another allocation, so each use compares the allocation id that the driver reports.
// All functions require the GIL.
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

enum class Access { Read, Write };  // the host's access

class PrivateMemory {
public:
    using Query = int (*)(void *context, const void *address, AllocationProperties *properties, void **device);

    // From `read_cutover` and `write_cutover` bytes on, the copy engine reads and writes.
    void configure(Query query, void *context, size_t read_cutover, size_t write_cutover);
    void clear();

    // Returns the host address of a private range; null when it has no mapping, another allocation has its address, or
    // the copy engine must copy it.
    char *host_address(const char *address, size_t bytes, Access access);

    // Registers the mapping of an allocation; `mapped` is `base` where the host reaches the memory without a mapping.
    void add(char *base, size_t size, uint64_t id, char *mapped);

    // Removes freed allocations, then the least recently used, until one of `more` bytes fits into the limits.
    // Returns the removed ids, and whether it fits. Removes nothing while a copy runs without the GIL,
    // or the network uses memory.
    std::pair<std::vector<uint64_t>, bool> make_room(size_t more, size_t most_bytes, size_t most);

    // Exists while a copy may run without the GIL.
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
    std::map<const char *, Entry> entries_;  // by base address
    uint64_t clock_ = 0;
    int uses_ = 0;
};

PrivateMemory &private_memory();

}  // namespace ishmem
