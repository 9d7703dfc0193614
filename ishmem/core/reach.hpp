// How a call of the program acts on memory of another PE that it does not access by loads and stores: one object for each
// way, chosen for each PE when the heaps are configured (`Heap::reaches`). Memory at near addresses needs none.
#pragma once
#include "operations.hpp"

namespace ishmem {

// All functions return false when a PE is lost, or with a Python exception.
class Reach {
 public:
    virtual bool put(const Copy &copy, const Caller &caller) const = 0;
    virtual bool get(const Copy &copy, const Caller &caller) const = 0;
    virtual bool put_row(char *at, const char *from, size_t bytes, size_t item, const Steps &steps) const = 0;
    virtual bool atomic(char *at, int rmw, size_t item, uint64_t value) const = 0;
    virtual bool fetching_atomic(char *at, int rmw, size_t item, uint64_t value, uint64_t cond, uint64_t &old) const = 0;

    // Returns where a get with a result reads; the address may be near.
    virtual const char *source(const char *at, size_t, const char *) const { return at; }

    // Updates a signal that comes after what this PE has put there since mark().
    virtual uint64_t mark() const { return 0; }
    virtual bool signal(char *at, int rmw, size_t item, uint64_t value, uint64_t) const { return atomic(at, rmw, item, value); }

 protected:
    ~Reach() = default;
};

extern const Reach &by_network;  // of PEs on other nodes
extern const Reach &by_late_delivery;    // of all other PEs, where late_delivery.hpp holds operations

// The way to a far address.
inline const Reach &reach_of(const void *at) { return *heap().reaches[static_cast<size_t>(far_pe(at))]; }

}  // namespace ishmem
