// Host operations on far addresses. They start operations in the engine; blocking ones drive the engine until
// completion.
#pragma once
#include <cstring>

#include "network_engine.hpp"
#include "operations.hpp"
#include "transport.hpp"

namespace ishmem::TRANSPORT {

// All return false when a PE is lost, or, with a Python exception set, when the wait is interrupted. `keep` owns the
// local memory and is referenced until the operation no longer accesses it. With `nbi` only `quiet` waits for
// completion.
bool remote_put(char *far, const char *from, size_t bytes, PyObject *keep = nullptr, bool nbi = false);
bool remote_put_uncounted(char *far, const void *from, size_t bytes);  // `quiet` does not wait for it
bool remote_get(char *into, const char *far, size_t bytes, PyObject *keep = nullptr, bool nbi = false);
bool remote_update(char *far, int rmw, size_t item, uint64_t value);
bool remote_atomic(char *far, int rmw, size_t item, uint64_t value, uint64_t cond, uint64_t &old);

// Waits until all operations of this PE on other nodes are complete at their targets.
Outcome remote_quiet();

// Waits for local completion of nonblocking operations.
Outcome remote_flush();

// Copies between any two addresses of which at least one is on this node.
inline bool copy_any(char *to, const char *from, size_t bytes) {
    if (is_far(to)) return remote_put(to, from, bytes);
    if (is_far(from)) return remote_get(to, from, bytes);
    copy_near(to, from, bytes);
    return true;
}

// Writes data that the next store_flag() to the same PE announces.
inline bool write_before_flag(char *to, const void *from, size_t bytes) {
    if (is_far(to)) return remote_put_uncounted(to, from, bytes);
    copy_near(to, static_cast<const char *>(from), bytes);
    return true;
}

// Stores a flag that another PE waits for.
inline bool store_flag(uint64_t *at, uint64_t value) {
    if (is_far(at)) return remote_put_uncounted(reinterpret_cast<char *>(at), &value, sizeof value);
    store_near(at, value);
    return true;
}

// Never frees memory that MPI may still access after a wait has ended early.
template <class T>
void leak(T &memory) {
    new T(std::move(memory));
}

// A set of concurrent gets: started one by one, awaited together.
class Gets {
 public:
    ~Gets();
    bool start(char *into, const char *from, size_t bytes);  // copies at once when `from` is on this node
    Outcome await();

 private:
    Group *group_ = nullptr;
};

// A set of concurrent puts that `quiet` does not wait for. After `await` the local memory may be reused; the data may
// still be on their way, ahead of later puts to the same PE.
class Puts {
 public:
    ~Puts();
    bool start(char *far, const char *from, size_t bytes);
    Outcome await();

 private:
    Group *group_ = nullptr;
};

size_t landing_bytes();  // of the region of landings: see exchange.hpp

// Waits in a call of a team until a word of this PE is at least `least`, with or without the GIL. `step` is for rehearsals: of the steps of this
// stage, the one in which the other PE stores it, counted from 1.
Outcome await_word(const Team &team, const uint64_t *at, uint64_t least, size_t step);

}  // namespace ishmem::TRANSPORT
