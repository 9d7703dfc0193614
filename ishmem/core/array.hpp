// What the host operations need to know of an array: where its elements are, how many, of which type.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace ishmem {

// numpy's type numbers, which dpctl shares; the platform's two 64-bit spellings are folded into one.
enum Type { Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32 = 11, F64 = 12, C64 = 14, C128 = 15, F16 = 23, Other = -1 };

struct View {
    char *address;
    size_t count;
    size_t item;
    Type type;
    int order;      // bit 0: C-contiguous, bit 1: Fortran-contiguous
    bool writable;
    bool device;    // USM, which the host may touch only through the mapped heap
    size_t bytes() const { return count * item; }
};

// Whether dpctl is of a version whose arrays can be read here.
bool arrays_known();

// Fills `view` from a dpnp array, a dpctl array or memory, or anything with the buffer protocol; false for others.
bool view_of(PyObject *object, View &view);

// Writes `value` as one element of `type`; false when the type cannot hold it exactly or is not handled here.
bool store_scalar(PyObject *value, Type type, void *out);

// A new Python scalar from one element of `type`; null without an exception when the type is not handled here.
PyObject *load_scalar(const void *in, Type type);

}  // namespace ishmem
