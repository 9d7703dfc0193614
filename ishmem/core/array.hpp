// The array description that host operations use: address, element count and element type.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ishmem {

// numpy's type numbers, which dpctl shares; long and long long map to the same 64-bit type. From BF16 on they are those of
// ishmem/common/type_tables.py.
enum Type { Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32 = 11, F64 = 12, C64 = 14, C128 = 15, F16 = 23, BF16 = 24, Other = -1 };

// Whether waits and signals take elements of a type.
inline bool is_word(Type type) { return type == I32 || type == U32 || type == I64 || type == U64; }

// Calls `act` with a zero of the C++ type of such elements.
template <class Act>
auto with_word(Type type, Act act) {
    switch (type) {
        case I32: return act(int32_t{});
        case U32: return act(uint32_t{});
        case I64: return act(int64_t{});
        default: return act(uint64_t{});
    }
}

struct View {
    char *address;
    size_t count;
    size_t item;
    Type type;
    int order;      // bit 0: C-contiguous, bit 1: Fortran-contiguous
    bool writable;
    bool device;    // USM, which the host may access only through the mapped heap
    size_t bytes() const { return count * item; }
};

// The shape and the strides of an array, where it keeps them.
struct Shape {
    static constexpr int MOST = 64, UNKNOWN = -1;
    int axes = UNKNOWN;
    const Py_ssize_t *lengths, *strides;  // null strides are those of Fortran order
    Py_ssize_t unit;                      // by how much the strides count an element: 1, or its bytes, a power of two
    Py_ssize_t copy[2 * MOST];            // where what an array keeps may change

    void set(int n, const Py_ssize_t *n_of, const Py_ssize_t *steps, Py_ssize_t item) { axes = n, lengths = n_of, strides = steps, unit = item; }
};

// The axes of an array, the outermost first. Axes of length 1 are left out; axes that one stride covers are one axis.
struct Layout {
    int axes = Shape::UNKNOWN;  // UNKNOWN also where the strides are not multiples of an element
    Py_ssize_t length[Shape::MOST], stride[Shape::MOST];  // strides in elements

    Layout(const View &view, const Shape &shape);  // `shape` is used where the array is not C-contiguous

 private:
    void add(Py_ssize_t n, Py_ssize_t step);
};

// Returns whether UsmArray in array.cpp matches the installed version of dpctl or dpnp.
bool arrays_known();

// Fills `view` from a dpnp array, a dpctl array or memory, or an object with the buffer protocol; false for other objects
// and for arrays of freed symmetric memory. Fills `shape` for arrays that are not C-contiguous.
bool view_of(PyObject *object, View &view, Shape *shape = nullptr);

// Makes view_of take the arrays of another library: `describe` returns address, elements, bytes of each, contiguity
// bits, type and whether on the device.
void set_foreign(PyObject *type, PyObject *describe);

// A symmetric allocation that was freed, and the object from which the memory of its arrays was made.
struct Freed {
    PyObject *origin;
    const char *begin, *end;
};

// Sets the freed allocations to which arrays of the program still refer. The caller holds references.
void set_freed(std::vector<Freed> allocations);

// The index in set_freed of the allocation of an array, or of memory; -1 if it is in none of them.
Py_ssize_t freed_of(PyObject *object);

// Writes `value` as one element of `type`; false when `type` cannot represent it exactly or is not supported.
bool store_scalar(PyObject *value, Type type, void *out);

// Returns a new Python scalar from one element of `type`; null without an exception when `type` is not supported.
PyObject *load_scalar(const void *in, Type type);

}  // namespace ishmem
