// The host operations: the fast path. An operation returns false or NotImplemented when it does not support its
// arguments; Python then takes the general path or raises an error that explains.
#pragma once
#include <cstring>

#include "heap.hpp"
#include "transport.hpp"

namespace ishmem {

inline PyObject *not_implemented() {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

// What an operation without a result returns to Python: None, or NotImplemented if it was not done.
struct Done {
    bool done;
};

// A put or get with checked arguments.
struct Copy {
    char *to;
    const char *from;
    size_t bytes, item;
};

// What a call of the program says of its copy.
struct Caller {
    PyObject *local;      // this PE's array
    bool nbi;
    const char *routine;  // for reports
};

// Whether the types of two arrays allow a copy of their elements, and `dest` is writable.
inline bool fit(const View &dest, const View &source) {
    return dest.type == source.type && dest.type != Other && dest.writable;
}

// Whether a copy of contiguous memory copies the elements of two arrays.
inline bool are_contiguous(const View &dest, const View &source) { return dest.order & source.order; }

// Computes the number of elements to copy: `nelems`, or all where it is None. False where the arrays do not have them.
bool count_of(PyObject *nelems, const View &dest, const View &source, size_t &count);

Done put(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);
Done get(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);
Done put_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);
Done get_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);

// The bytes from a block to the next, and the number of blocks.
struct Steps {
    ptrdiff_t to, from;
    size_t count;
};

// Calls `act` for each block; ends when it returns false.
template <class Act>
bool each_block(char *to, const char *from, const Steps &steps, const Act &act) {
    for (size_t i = 0; i < steps.count; ++i, to += steps.to, from += steps.from)
        if (!act(to, from)) return false;
    return true;
}

// A range of an array.
struct ArrayRange {
    const View &view;
    size_t bytes;
};

// The addresses of a copy: of the host, or those that the copy engine takes.
struct CopyAddresses {
    char *to;
    const char *from;
    bool by_copy_engine;
};

// Finds the addresses of a put or get in `messages` of `size` bytes; false when the range on the other PE has none, or with
// a Python exception.
bool find_addresses(const ArrayRange &to, const ArrayRange &from, Py_ssize_t pe, bool is_put, size_t size, size_t messages, CopyAddresses &addresses);

// The arguments of a put or get, of arrays that `fit` and have the elements.
struct Operands {
    View to, from;
    Shape to_shape, from_shape;  // of arrays that are not C-contiguous
    size_t count;
    Py_ssize_t pe;
};

// Reads the arguments of a put or get; false where they do not fit each other.
bool read_operands(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, Operands &operands);

// How a copy was made. NotMade: an argument is invalid, or a PE is lost. ByEngine: by the copy engine, which may not be
// done.
enum class CopyResult { NotMade, ByHost, ByEngine };

CopyResult move(const Operands &operands, bool is_put, const Caller &caller);

// The same of arrays that are not both contiguous in one memory order.
CopyResult move_views(const Operands &operands, bool is_put, const Caller &caller);

// Waits for the copy engine where that has copied for a blocking call.
bool complete(CopyResult made, bool nbi);

// `count` blocks of `size` elements; the steps are the distances between the starts of consecutive blocks, in elements.
struct Blocks {
    Py_ssize_t to_step, from_step, size, count;

    // Computes the extent from the start of the first block to the end of the last, in elements. Returns false when
    // blocks overlap or the extent overflows.
    bool extent(Py_ssize_t step, size_t &elements) const;
};

Done iput(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *nelems, PyObject *pe);
Done iget(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *nelems, PyObject *pe);
Done ibput(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *bsize, PyObject *nblocks, PyObject *pe);
Done ibget(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *bsize, PyObject *nblocks, PyObject *pe);

// Copies, then updates the word at `sig_addr`: stores `signal`, or adds it. A PE that sees the signal sees the data.
template <bool nbi>
Done put_signal(PyObject *dest, PyObject *source, PyObject *sig_addr, PyObject *signal, PyObject *sig_op, PyObject *pe,
                PyObject *nelems, PyObject *index);

// Move one element from or to an array of the host that has the bytes of one, for types without a scalar in the core.
Done put_element(PyObject *dest, PyObject *host, PyObject *pe, PyObject *index);
Done get_element(PyObject *source, PyObject *host, PyObject *pe, PyObject *index);
// Whether the arguments of a signal are right and the host updates it by itself.
bool host_signals(PyObject *sig_addr, PyObject *signal, PyObject *sig_op, PyObject *pe, PyObject *index);

Done p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index);
PyObject *g(PyObject *source, PyObject *pe, PyObject *index);

// The function of an atomic, bound to its code. The lowest byte of that is the Rmw, combined with NO_RESULT when the
// caller needs no result; bit 8 + t is set when the operation accepts Type t; from bit 24 on stands how many operands it
// takes. The arguments are the array, the operands, PE and index, and the memory order where the routine has one: 0 is
// relaxed, others are declined. Returns the old value, or None with NO_RESULT.
PyObject *atomic(PyObject *bound, PyObject *const *given, Py_ssize_t count);

// How a wait ended. BadArguments, which Python sees as NotImplemented: the core does not support the arguments. Failed: the
// device has failed. Mixed: a barrier in which PEs made different calls.
enum Outcome { BadArguments = -1, Failed, Satisfied, TimedOut, Lost, Interrupted, Mixed };

// Reads a comparison, a number of Compare, and a timeout in seconds, None for no limit, which is -1. False for other objects.
bool comparison_of(PyObject *compare, int &how);
bool seconds_of(PyObject *timeout, double &seconds);

// Returns None, or the value that satisfies the comparison.
template <bool gives_value>
PyObject *wait_until(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, PyObject *timeout);

PyObject *test(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index);
PyObject *signal_fetch(PyObject *sig_addr, PyObject *index);

// The function of a wait for a set of variables, or of a test of one, bound to its code: a Mode and bits of SetCode.
PyObject *look_at_set(PyObject *bound, PyObject *const *given, Py_ssize_t count);

// Sets the callback of long waits: called with True while a wait goes on, where an exception ends the wait, and with
// False when the wait has ended.
void on_wait(PyObject *call);
bool tell_wait(bool goes_on);

template <class Word>
void store_word(char *to, const void *from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<Word *>(to), word, __ATOMIC_RELAXED);
}

// Copies one element; of 1, 2, 4 or 8 bytes with a single store, so a reader never sees a torn value.
inline void store_element(char *to, const void *from, size_t item) {
    switch (item) {
        case 1: return store_word<uint8_t>(to, from);
        case 2: return store_word<uint16_t>(to, from);
        case 4: return store_word<uint32_t>(to, from);
        case 8: return store_word<uint64_t>(to, from);
        default: std::memcpy(to, from, item);
    }
}

// Copies a block of memory; a reader of one element never sees a torn value.
inline void move_block(char *to, const char *from, size_t bytes, size_t item) {
    if (bytes == item) store_element(to, from, item);
    else std::memmove(to, from, bytes);
}

// Copies blocks on this node; a reader of a block of one element never sees a torn value.
template <class Move>
void move_each(char *to, const char *from, Steps steps, Move move) {
#pragma GCC unroll 8
    for (size_t i = 0; i < steps.count; ++i, to += steps.to, from += steps.from) move(to, from);
}

inline void move_row(char *to, const char *from, const Steps &steps, size_t bytes, size_t item) {
    switch (bytes > item ? 0 : item) {  // a constant size makes store_element one store
        case 1: return move_each(to, from, steps, [](char *at, const char *of) { store_element(at, of, 1); });
        case 2: return move_each(to, from, steps, [](char *at, const char *of) { store_element(at, of, 2); });
        case 4: return move_each(to, from, steps, [](char *at, const char *of) { store_element(at, of, 4); });
        case 8: return move_each(to, from, steps, [](char *at, const char *of) { store_element(at, of, 8); });
        case 16: return move_each(to, from, steps, [](char *at, const char *of) { std::memcpy(at, of, 16); });
        default: return move_each(to, from, steps, [=](char *at, const char *of) { std::memmove(at, of, bytes); });
    }
}

constexpr size_t LONG = 256 << 10;  // from this many bytes on, some microseconds, the GIL is released during a copy

// Applies an atomic operation to a mapped element of 4 or 8 bytes, under its lock if it has one. Writes the old value,
// unless nobody wants it: `old` is null. False when a PE is lost, which may hold the lock.
bool update_element(int rmw, char *at, size_t item, uint64_t value, uint64_t cond, uint64_t *old);

// Whether the host does an atomic operation at a mapped address by itself. On memory where its atomics are not atomic
// for kernels, it does those that all agents do under a lock, loads, and stores: who reads and writes at once sees a
// store before or after. The rest is for a kernel.
bool host_updates(const View &view, const char *at, int rmw, bool result);

void fence();

// The fast path of quiet and fence: completes all operations on other PEs. Not done when copies may be outstanding,
// checks are enabled, operations are held, a kernel has recorded an error, or a PE or the device has failed.
Done quiet();

// `device_status` returns the result of the Level Zero call `status_call`: zero while the device works.
void watch_device(uintptr_t status_call, uintptr_t device);
int device_status();

// The call that a barrier is, or is a part of.
enum BarrierKind : unsigned { PartOfCall, BarrierAll, Sync };
constexpr unsigned KIND_BITS = 2, KIND_MASK = 3, KINDS_BITS = 2 * KIND_BITS;

// What `agree` combines across a team. The operations are idempotent: the barrier combines some values more than once.
struct Summary {
    uint64_t digest;   // of a request, not 0; 0: the requests differ
    uint64_t free;     // bits that are set on all PEs
    uint64_t highest;  // the maximum

    void add(const Summary &other) {
        if (digest != other.digest) digest = 0;
        free &= other.free;
        if (highest < other.highest) highest = other.highest;
    }
};

namespace TRANSPORT {

Outcome barrier(unsigned team, double timeout, unsigned kind = PartOfCall);

// The kind of the other PE's barrier, after the outcome Mixed.
unsigned mixed_with();

// A barrier that leaves the combination of all members' summaries in `summary`.
Outcome agree(unsigned team, double timeout, Summary &summary);

}  // namespace TRANSPORT

// quiet() and the barrier of the world team; declined where quiet() needs the general path.
PyObject *barrier_all();
PyObject *sync_all();
PyObject *alltoalls(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *nelems, PyObject *team);

uint64_t *barriers_begun(int pe, unsigned team);  // as that PE has told when it left
void set_left(int pe);
void publish_barriers_begun(bool lost);
void publish_begun(bool alone);
void note_departure(int pe);  // called when a PE on another node has published its departure
size_t departure_bytes(size_t n_pes);  // of the records of all PEs
uint64_t collectives_begun(int pe, unsigned team);  // by a PE of another node that has left

}  // namespace ishmem
