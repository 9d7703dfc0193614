// The host operations. Each has a plain case that is done here; false, or NotImplemented, means that the
// arguments are not the plain case and that Python decides: another route, or an error that explains.
#pragma once
#include "heap.hpp"

namespace ishmem {

inline PyObject *not_implemented() {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

// A put or get whose arguments are checked.
struct Copy {
    char *to;
    const char *from;
    size_t bytes, item;
    bool is_far() const { return ishmem::is_far(to) || ishmem::is_far(from); }
};

bool plan(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, bool is_put, Copy &copy);
bool run(const Copy &copy, PyObject *local, bool nbi = false);  // `local` is the array that is on this PE
bool put(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);
bool get(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);
bool put_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);
bool get_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems);

// Blocks of `size` elements, and how many elements lie from the start of one to that of the next.
struct Blocks {
    Py_ssize_t to_step, from_step, size, count;

    // Elements from the start of the first to the end of the last; false when they overlap or are too far apart.
    bool reach(Py_ssize_t step, size_t &elements) const;
};

bool strided(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *bsize, PyObject *nblocks, PyObject *pe,
             bool is_put);

// Copies, then sets or adds to the uint64 at `sig_addr`, so that whoever sees the signal sees the data.
bool put_signal(PyObject *dest, PyObject *source, PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe,
                PyObject *nelems, PyObject *index, bool nbi);

bool p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index);
PyObject *g(PyObject *source, PyObject *pe, PyObject *index);

enum Rmw { Fetch, Swap, CompareSwap, Add, And, Or, Xor };

// Returns the old value. `code` has the Rmw in its lowest byte, with NO_RESULT when nobody wants that value, and above it
// bit t for each Type t that it takes.
constexpr long NO_RESULT = 0x80;
PyObject *atomic(long code, PyObject *target, PyObject *pe, PyObject *index, PyObject *value, PyObject *cond);

enum Compare { EQ = 1, NE, GT, GE, LT, LE };  // the numbers of ISHMEM_CMP_*

// How a wait ended; BadArguments as above.
enum Outcome { BadArguments = -1, Failed, Satisfied, TimedOut, Lost, Interrupted };

Outcome wait_until(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, double timeout);
Outcome test(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index);

enum Mode { All, Any, Some };

// (outcome, variables found, value seen of one that failed); `found` gets their numbers. `values` holds one value or
// one per variable, `step` is the distance of the variables in elements, `once` looks only once.
PyObject *wait_set(PyObject *ivars, Py_ssize_t step, PyObject *compare, PyObject *values, PyObject *ignored,
                   PyObject *found, int mode, bool once, double timeout);

// (outcome, value seen) of one uint64.
PyObject *wait_seen(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, double timeout);

// What a long wait calls: with true while it goes on, which may end it by an exception, with false at its end.
void on_wait(PyObject *call);
bool tell_wait(bool goes_on);

// One element in one store.
void store_element(char *to, const void *from, size_t item);

// An atomic operation on an element of 4 or 8 bytes; returns the old value.
uint64_t update_element(int rmw, char *at, size_t item, uint64_t value, uint64_t cond);

void fence();

// A fence, when that is all there is to do: false when copies may be outstanding or something has gone wrong.
bool quiet();

// The result of a Level Zero call that says whether the device works: zero while it does.
void watch_device(uintptr_t status_call, uintptr_t device);
int device_status();

Outcome barrier(unsigned team, double timeout);

// quiet() and the barrier of the world; BadArguments when quiet() has more to do, Failed when it has afterwards.
Outcome barrier_all();
void set_left(int pe);
void publish_barriers_begun(bool lost);
void note_departure(int pe);  // has come from another node

}  // namespace ishmem
