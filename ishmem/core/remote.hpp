// Host operations on far addresses: they start in the engine and wait where the operation has to, driving it meanwhile.
#pragma once
#include "engine.hpp"
#include "operations.hpp"

namespace ishmem {

// All return false when a PE is lost, or, with Python's exception set, when the wait was interrupted. `keep` is kept
// until nothing reads or writes its memory any more. With `nbi` only `quiet` waits.
bool remote_put(char *far, const char *from, size_t bytes, PyObject *keep = nullptr, bool nbi = false);
bool remote_put_uncounted(char *far, const void *from, size_t bytes);  // `quiet` does not wait for it
bool remote_get(char *into, const char *far, size_t bytes, PyObject *keep = nullptr, bool nbi = false);
bool remote_update(char *far, int rmw, size_t item, uint64_t value);
bool remote_atomic(char *far, int rmw, size_t item, uint64_t value, uint64_t cond, uint64_t &old);

// Waits until all that this PE has asked of other nodes is complete there.
Outcome remote_quiet();

// Copies, wherever the ends are; one of them is on this node.
bool copy_any(char *to, const char *from, size_t bytes);

// A word that others wait for.
inline bool store_flag(uint64_t *at, uint64_t value) {
    if (is_far(at)) return remote_put_uncounted(reinterpret_cast<char *>(at), &value, sizeof value);
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
    return true;
}

// Keeps memory that MPI may still write, when a wait has ended early.
template <class T>
void leak(T &memory) {
    new T(std::move(memory));
}

// Gets that are under way at a time: started one after the other, awaited together.
class Gets {
 public:
    ~Gets();
    bool start(char *into, const char *from, size_t bytes);  // copies at once what is on this node
    Outcome await();

 private:
    Group *group_ = nullptr;
};

}  // namespace ishmem
