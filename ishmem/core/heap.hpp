// The symmetric heaps as host code accesses them: one host address per PE, and the allocated ranges.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "array.hpp"
#include "far.hpp"
#include "numbers.hpp"

namespace ishmem {

class Reach;

// A team: its members are PEs start, start + stride, ..., or those listed; size 0: the handle is free.
struct Team {
    int start = 0, stride = 1, size = 0;
    std::vector<int> members;  // of a team without a stride; else empty
    int me = -1;            // number of this PE in the team; -1: not a member
    uint64_t sequence = 0;  // barriers that this PE has begun
    unsigned kinds = 0;     // BarrierKind of the last barrier, and that of the one before in the higher bits
    uint64_t collectives = 0;  // other collective calls that this PE has begun
    PyObject *shape = nullptr;  // identity of the Python team: distinguishes it from earlier teams with this handle
    bool spans = false;     // whether it has members on several nodes; the fields below are set only then
    std::vector<int> near;     // PEs of the members on this node
    std::vector<int> leaders;  // PEs that are the first member on their node
    std::vector<std::vector<int>> groups;  // the members of each node, by their numbers in the team; nodes as in `leaders`
    bool in_runs = false;      // whether the members of each node have consecutive numbers
    int index = 0, node = 0;   // index of this PE in `near`, of its leader in `leaders`
    unsigned rounds = 0;       // of a dissemination barrier within the largest node

    int pe(int member) const { return members.empty() ? start + member * stride : members[static_cast<size_t>(member)]; }
};

// A static host object, or device memory that the program has registered: the same size on every PE. `mapped` holds the
// address of each PE's object in this process.
struct Static {
    size_t size;
    size_t number;  // counted from 1, the same on every PE
    uint64_t offset; // from STATICS_AT, by which other nodes address it
    bool device;    // whether it is device memory
    std::vector<char *> mapped;
    std::vector<char *> copy_engine_bases;  // of registered memory: the addresses that the copy engine takes
};

// Offsets in a heap of the internal parts that the core accesses: see ishmem/common/layout.py.
struct Parts {
    size_t sync = 0;            // the lines that barrier() writes
    size_t sync_bytes = 0;      // of the lines of one team
    size_t barriers_begun = 0;  // the counters that publish_barriers_begun() writes
    size_t begun = 0;           // the record that publish_begun() writes
};

// Where PEs of other nodes write outside the heap.
struct Regions {
    char *mirrors = nullptr;     // copies of the rings of PEs on other nodes, shared by the node: see collectives.cpp
    size_t mirror_bytes = 0;
    char *departures = nullptr;  // departure records of PEs on other nodes: see leave_records.cpp
    size_t departure_bytes = 0;
    char *landings = nullptr;    // where collectives of other nodes' PEs put: see exchange.hpp
    size_t landing_bytes = 0;
};

// What waits and quiet look at beside memory: PEs that have ended, the device, and what is under way.
struct Status {
    std::atomic<int> lost{-1};            // a PE that died; -1: none, or `shrink` has taken note of it
    bool survives_losses = false;                 // whether the job goes on after a loss
    std::vector<std::atomic<bool>> dead;  // the PEs that died, in a job that goes on
    std::vector<std::atomic<bool>> left;  // whether each PE has finalised
    std::atomic<bool> any_left{false};
    int (*device_call)(void *) = nullptr;  // zeDeviceGetStatus
    void *device = nullptr;
    const int64_t *violation = nullptr;  // nonzero: a kernel has recorded one
    std::atomic<int> busy_engines{0};    // copy engines whose copies may not have completed
    bool quiet_is_general = false;       // quiet must do more than the core does: with ISHMEM_CHECK, or with what is held

    bool has_lost() const { return lost.load() >= 0; }
};

struct Heap {
    int me = 0;
    int n_pes = 0;                  // 0: not initialised
    char *base = nullptr;           // device address of this PE's heap
    size_t size = 0;
    std::vector<char *> mapped;     // host address of each PE's heap; a far address on other nodes: see far.hpp
    std::vector<char *> targets;    // the same for calls of the program: far addresses also where late_delivery.hpp holds them
    std::vector<const Reach *> reaches;  // how calls of the program reach PEs with far addresses: see reach.hpp; null for others
    std::vector<char *> copy_engine_bases;     // the address of each PE's heap that the copy engine takes: of the device where that reaches it
    size_t cutover = 0;             // the copy engine copies from this many bytes on
    std::vector<int> nodes;         // node of each PE; empty in a job on one node
    std::vector<bool> unreachable;  // PEs whose memory only the host reaches, not this device
    bool host_atomics = false;      // host atomics on mapped memory are atomic with respect to kernels, too
    std::vector<int64_t *> locks;   // of each PE: under which hosts do all atomics on its memory; null: they need none
    bool crowded = false;           // this node has more PEs than cores
    int looks = 1;                  // polls before a wait yields
    Parts parts;
    Regions regions;
    Status status;
    Team teams[MAX_TEAMS];
    std::map<const char *, Static> statics;  // keyed by the address of this PE's object
    std::vector<const Static *> static_objects;  // indexed by number - 1
    std::vector<std::map<const char *, Static>::node_type> removed_statics;  // of size 0; their numbers are not used again

    // Heap offset of an address range that lies within one live allocation; otherwise -1.
    ptrdiff_t offset_of(const char *address, size_t bytes) const;

    size_t cutover_to(Py_ssize_t pe) const {
        const bool far = pe >= 0 && static_cast<size_t>(pe) < unreachable.size() && unreachable[static_cast<size_t>(pe)];
        return far ? SIZE_MAX : cutover;
    }

    // Where calls of the program reach a PE; null when it is lost in a job that goes on.
    char *target_of(Py_ssize_t pe) const { return __atomic_load_n(&targets[static_cast<size_t>(pe)], __ATOMIC_RELAXED); }

    // Translates a range in a static object of this PE into its address on `pe` for calls of the program, which is far also
    // where late_delivery.hpp holds operations; null when it is in none.
    char *static_target(const char *address, size_t bytes, Py_ssize_t pe) const;

    // Translates an offset from this PE's heap, as kernels give it, into the place of the range in the symmetric memory of
    // a PE: registered memory lies outside the heap. Null when it is in neither.
    char *symmetric(int pe, int64_t offset, size_t bytes, bool held) const;

    // Translates an offset from STATICS_AT into an address in the static host objects of a PE; null when it is in none.
    char *static_in(int pe, uint64_t offset, size_t bytes) const;

    // The lock under which hosts do all atomics at a mapped address, those for kernels too; null where they need none.
    int64_t *lock_of(const char *at) const;

    // Number of the static host object that contains a range, and the offset in it; number 0 when it is in none.
    std::pair<size_t, size_t> static_place(const char *address, size_t bytes) const;

    // Host address of a local range: host memory itself, or the mapped heap for USM; null when it is in neither.
    char *local(const View &view, size_t bytes) const;

    // Host address on `pe` of the symmetric range `view`; null when an argument is invalid, or the PE is lost in a job
    // that goes on.
    char *remote(const View &view, size_t bytes, Py_ssize_t pe) const;

    // The address on `pe` that the copy engine takes; null for memory that is not symmetric.
    char *copy_engine_address(const View &view, size_t bytes, Py_ssize_t pe) const;

    // The same of one element of a contiguous symmetric array; fills `view`. An index counts in the order of memory.
    char *element(PyObject *array, PyObject *pe, PyObject *index, View &view) const;
    char *element(PyObject *array, Py_ssize_t pe, PyObject *index, View &view) const;

    // The PE of a number that kernels use: a member of a team without a stride has another one, see `Layout.alias`.
    int64_t pe_of(int64_t number) const {
        const int64_t handle = n_pes ? number / n_pes - 1 : -1, member = n_pes ? number % n_pes : 0;
        const bool listed = handle >= 0 && handle < MAX_TEAMS && member < static_cast<int64_t>(teams[handle].members.size());
        return listed ? teams[handle].pe(static_cast<int>(member)) : number;
    }

    // Takes note of a loss, which ends waits: no call of the program reaches that PE any more.
    void lose(int pe);

    // Whether a loss keeps a collective call of a team from completing: in a job that goes on, that of a member.
    bool has_lost(const Team &team) const;

    // `number` is that of this PE in the team, -1 if it is not a member; `members` is empty for a team with a stride.
    void set_team(unsigned handle, const Team &shape, int number, uint64_t sequence, PyObject *identity);

    // `engine` is empty for an object of the host.
    void add_static(char *own, size_t bytes, const std::vector<uintptr_t> &others, const std::vector<uintptr_t> &engine);
    void remove_static(const char *own);

    void add_live(size_t offset, size_t bytes);
    void remove_live(size_t offset);
    void clear_live();

private:
    // Cache entry: the end of the allocation that contains `offset`.
    struct Found {
        size_t offset = 0, end = 0;
    };
    std::map<size_t, size_t> live_;  // offset -> end of each allocation
    mutable Found found_[16];

    // Arrays of one size follow each other, so the low bits of their offsets are often equal: all bits are mixed.
    Found &found_at(size_t offset) const { return found_[offset * 0x9E3779B97F4A7C15 >> 60]; }

    mutable std::mutex statics_mutex_;  // the engine's thread reads `static_objects`, too
};

extern Heap *const the_heap;

inline Heap &heap() { return *the_heap; }

// Converts an integer argument; false, without an exception, when it is not an integer, or is True or False.
inline bool integer_of(PyObject *object, Py_ssize_t &value) {
    if (object == Py_True || object == Py_False) return false;
    value = PyLong_Check(object) ? PyLong_AsSsize_t(object) : PyNumber_AsSsize_t(object, nullptr);
    if (value != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

}  // namespace ishmem
