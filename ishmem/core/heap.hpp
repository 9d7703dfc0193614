// The symmetric heaps of this node as the host sees them: one mapping per PE, and which parts are allocated.
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

namespace ishmem {

constexpr unsigned MAX_TEAMS = 128;  // with the twins of ishmem/common/layout.py

// A team: members are start, start + stride, ...; size 0 while the number is free.
struct Team {
    int start = 0, stride = 1, size = 0;
    int me = -1;            // number of this PE in it
    uint64_t sequence = 0;  // barriers that this PE has begun
    uint64_t collectives = 0;  // other collective calls that it has begun
    PyObject *shape = nullptr;  // what tells the Python team of this number from earlier ones
    bool spans = false;     // whether it has members on other nodes; only then there is what follows
    std::vector<int> near;     // PEs of the members on this node
    std::vector<int> leaders;  // PEs of the first members of each node
    int index = 0, node = 0;   // of this PE in `near`, of its leader in `leaders`
    unsigned rounds = 0;       // of a barrier within the largest node

    int pe(int member) const { return start + member * stride; }
};

// A host object of the same size on every PE; `mapped` is where this process sees that of each.
struct Static {
    size_t size;
    size_t number;  // from 1 on, the same on every PE
    uint64_t place; // after those made before, in what PEs of other nodes address
    std::vector<char *> mapped;
};

struct Heap {
    int me = 0;
    int n_pes = 0;                  // 0: not initialised
    char *base = nullptr;           // device address of this PE's heap
    size_t size = 0;
    std::vector<char *> mapped;     // host address of each PE's heap, a far one on other nodes: see far.hpp
    size_t cutover = 0;             // from this many bytes on the copy engine copies
    std::vector<int> nodes;         // of each PE; empty in a job on one node
    std::vector<bool> unreachable;  // PEs whose memory this device does not reach: only the host does
    bool host_atomics = false;      // host atomics on mapped memory are atomic for kernels too
    int looks = 1;                  // of a wait before it yields
    size_t sync_offset = 0;         // of the lines that barrier() writes
    size_t sync_bytes = 0;          // of those of one team
    size_t barriers_begun_offset = 0;     // of what publish_barriers_begun() writes
    Team teams[MAX_TEAMS];
    std::atomic<int> busy_engines{0};  // copy engines whose copies may not have completed
    bool violations_watched = false;   // the host must look for what kernels find wrong
    std::map<const char *, Static> statics;  // by the address of this PE's own
    std::vector<const Static *> static_objects;  // by their number, less 1
    char *mirrors = nullptr;           // what members of teams on other nodes publish: see collectives.cpp
    size_t mirror_bytes = 0;
    char *departures = nullptr;         // what PEs of other nodes say when they leave: see barrier.cpp
    size_t departure_bytes = 0;
    int (*status_call)(void *) = nullptr;
    void *device = nullptr;
    std::atomic<int> lost{-1};      // a PE that died
    std::vector<std::atomic<bool>> left;  // whether each PE has finalised
    std::atomic<bool> any_left{false};

    // Offset of a symmetric address range that lies in one live allocation, or -1.
    ptrdiff_t offset_of(const char *address, size_t bytes) const;

    size_t cutover_to(Py_ssize_t pe) const {
        const bool far = pe >= 0 && static_cast<size_t>(pe) < unreachable.size() && unreachable[static_cast<size_t>(pe)];
        return far ? SIZE_MAX : cutover;
    }

    // Address on `pe` of a range in a static host object of this PE; null when it is not in one.
    char *static_of(const char *address, size_t bytes, Py_ssize_t pe) const;

    // Address in the static host objects of this PE of what other nodes address; null when it is in none.
    char *own_static(uint64_t place, size_t bytes) const;

    // Number of the static host object that a range is in, and its offset there; number 0 when it is in none.
    std::pair<size_t, size_t> static_place(const char *address, size_t bytes) const;

    // Host address of a local range: the range itself, or its place in the mapped heap; null if there is none.
    char *local(const View &view, size_t bytes) const;

    // Host address of the range of `view` on `pe`; null when any of the arguments is not right.
    char *remote(const View &view, size_t bytes, Py_ssize_t pe) const;

    // Host address of one element of a symmetric array on a PE; null when any of the arguments is not right.
    char *element(PyObject *array, PyObject *pe, PyObject *index, View &view) const;
    char *element(PyObject *array, Py_ssize_t pe, PyObject *index, View &view) const;

    void add_static(char *own, size_t bytes, const std::vector<uintptr_t> &others);

    void add_live(size_t offset, size_t bytes);
    void remove_live(size_t offset);
    void clear_live();

private:
    // The allocation in which an address was found, so that the next look at it needs no search.
    struct Found {
        size_t offset = 0, end = 0;
    };
    std::map<size_t, size_t> live_;  // offset -> end of each allocation
    mutable Found found_[16];
    mutable std::mutex statics_mutex_;  // the engine's thread looks into them, too
};

Heap &heap();

// An integer argument; false, and no exception, when it is none.
inline bool integer_of(PyObject *object, Py_ssize_t &value) {
    value = PyLong_Check(object) ? PyLong_AsSsize_t(object) : PyNumber_AsSsize_t(object, nullptr);
    if (value != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

}  // namespace ishmem
