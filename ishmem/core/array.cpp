#include "array.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace ishmem {
namespace {

// The memory layout of a ``usm_ndarray``, from the header of dpctl and dpnp. Its accessor functions take longer than
// the rest of a put.
struct UsmArray {
    PyObject_HEAD
    void *methods;
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides;
    int typenum, flags;
    PyObject *base, *array_namespace, *weak_references;
};

// The parts of dpctl that this file uses, looked up at run time without dpctl's headers.
struct Dpctl {
    PyTypeObject *array = nullptr;
    PyTypeObject *memory = nullptr;
    PyTypeObject *numpy = nullptr;
    void *(*pointer)(PyObject *) = nullptr;
    size_t (*nbytes)(PyObject *) = nullptr;
    PyObject *reference = nullptr;  // the attribute of memory that has what it was made from
    PyObject *wrapped = nullptr;  // the attribute under which a dpnp array keeps its usm_ndarray
    mutable PyTypeObject *wrapper = nullptr;  // the type of the last object with this attribute
};

// Arrays of another library: their type, and the function that describes one; null where there is none.
struct Foreign {
    PyTypeObject *type = nullptr;
    PyObject *describe = nullptr;
} foreign;

template <class Function>
bool bind(PyObject *capsules, const char *name, Function &function) {
    PyObject *capsule = PyDict_GetItemString(capsules, name);
    void *pointer = capsule ? PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)) : nullptr;
    std::memcpy(&function, &pointer, sizeof function);
    return pointer != nullptr;
}

PyObject *attribute(const char *module_name, const char *name) {
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = module ? PyObject_GetAttrString(module, name) : nullptr;
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

// The type object of ``usm_ndarray``, of dpctl up to 0.21 and of dpnp since; null when its layout differs from the one
// above.
PyTypeObject *array_type() {
    PyObject *found = attribute("dpctl.tensor._usmarray", "usm_ndarray");
    if (!found) found = attribute("dpnp.tensor._usmarray", "usm_ndarray");
    auto *type = reinterpret_cast<PyTypeObject *>(found);
    return type && type->tp_basicsize == sizeof(UsmArray) ? type : nullptr;
}

PyTypeObject *memory_type(Dpctl &api) {
    PyObject *type = attribute("dpctl.memory._memory", "MemoryUSMDevice");
    PyObject *capsules = attribute("dpctl.memory._memory", "__pyx_capi__");
    const bool bound = type && capsules && bind(capsules, "Memory_GetUsmPointer", api.pointer) &&
                       bind(capsules, "Memory_GetNumBytes", api.nbytes);
    Py_XDECREF(capsules);
    return bound ? reinterpret_cast<PyTypeObject *>(type) : nullptr;
}

const Dpctl &dpctl() {
    static const Dpctl api = [] {
        Dpctl found;
        found.array = array_type();
        found.numpy = reinterpret_cast<PyTypeObject *>(attribute("numpy", "ndarray"));
        found.memory = memory_type(found);
        found.reference = PyUnicode_InternFromString("reference_obj");
        found.wrapped = PyUnicode_InternFromString("_array_obj");
        return found;
    }();
    return api;
}

Type fold(int typenum) {
    switch (typenum) {
        case 9: return I64;   // long long
        case 10: return U64;  // unsigned long long
        case 7: return I64;
        case 8: return U64;
        case Bool: case I8: case U8: case I16: case U16: case I32: case U32:
        case F32: case F64: case C64: case C128: case F16: return static_cast<Type>(typenum);
        default: return Other;
    }
}

Type integer_of(size_t size, bool is_signed) {
    switch (size) {
        case 1: return is_signed ? I8 : U8;
        case 2: return is_signed ? I16 : U16;
        case 4: return is_signed ? I32 : U32;
        case 8: return is_signed ? I64 : U64;
        default: return Other;
    }
}

Type type_of_format(const char *format, size_t size) {
    if (!format) return U8;
    if (!std::strcmp(format, "Zf")) return C64;
    if (!std::strcmp(format, "Zd")) return C128;
    if (format[0] == '\0' || format[1] != '\0') return Other;
    switch (format[0]) {
        case '?': return Bool;
        case 'e': return F16;
        case 'f': return F32;
        case 'd': return F64;
        case 'b': case 'h': case 'i': case 'l': case 'q': return integer_of(size, true);
        case 'B': case 'H': case 'I': case 'L': case 'Q': return integer_of(size, false);
        default: return Other;
    }
}

size_t size_of(Type type) {
    switch (type) {
        case Bool: case I8: case U8: return 1;
        case I16: case U16: case F16: return 2;
        case I32: case U32: case F32: return 4;
        case I64: case U64: case F64: case C64: return 8;
        case C128: return 16;
        default: return 0;
    }
}

std::vector<Freed> freed;

// Whether a memory object was made from `origin`, which also the objects keep that dpctl makes from it.
bool is_from(const Dpctl &api, PyObject *memory, PyObject *origin) {
    if (!api.memory || !PyObject_TypeCheck(memory, api.memory)) return false;
    PyObject *kept = PyObject_GetAttr(memory, api.reference);
    if (!kept) PyErr_Clear();
    Py_XDECREF(kept);
    return kept == origin;
}

Py_ssize_t freed_at(const Dpctl &api, const char *address, PyObject *memory) {
    for (const Freed &each : freed)
        if (address >= each.begin && address < each.end && is_from(api, memory, each.origin)) return &each - freed.data();
    return -1;
}

bool view_usm(const Dpctl &api, PyObject *object, View &view, Shape *shape) {
    const auto &array = *reinterpret_cast<const UsmArray *>(object);
    if (!freed.empty() && freed_at(api, array.data, array.base) >= 0) return false;
    view.count = 1;
    for (int i = 0; i < array.ndim; ++i) view.count *= static_cast<size_t>(array.shape[i]);
    view.address = array.data;
    view.type = fold(array.typenum);
    view.item = size_of(view.type);
    view.order = array.flags & 3;
    view.writable = array.flags & 4;
    view.device = true;
    if (shape && !(view.order & 1)) shape->set(array.ndim, array.shape, array.strides, 1);
    return true;
}

bool view_memory(const Dpctl &api, PyObject *memory, View &view) {
    view.address = static_cast<char *>(api.pointer(memory));
    if (!freed.empty() && freed_at(api, view.address, memory) >= 0) return false;
    view.count = api.nbytes(memory);
    view.item = 1;
    view.type = U8;
    view.order = 3;
    view.writable = true;
    view.device = true;
    return true;
}

// The memory layout of a ``numpy.ndarray`` and its dtype, which numpy's C interface has kept since its first version.
struct NumpyType {
    PyObject_HEAD
    PyTypeObject *scalar;
    char kind, letter, order, flags;
    int typenum;
};

struct NumpyArray {
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides;
    PyObject *base;
    NumpyType *dtype;
    int flags;
};

bool view_numpy(PyObject *object, View &view, Shape *shape) {
    constexpr int WRITEABLE = 0x400;
    const auto &array = *reinterpret_cast<const NumpyArray *>(object);
    view.type = array.dtype->order == '=' || array.dtype->order == '|' ? fold(array.dtype->typenum) : Other;
    view.item = size_of(view.type);
    view.count = 1;
    for (int i = 0; i < array.ndim; ++i) view.count *= static_cast<size_t>(array.shape[i]);
    view.address = array.data;
    view.order = array.flags & 3;
    view.writable = array.flags & WRITEABLE;
    view.device = false;
    if (shape && !(view.order & 1)) shape->set(array.ndim, array.shape, array.strides, static_cast<Py_ssize_t>(view.item));
    return view.type != Other;
}

void copy_shape(const Py_buffer &buffer, Shape &shape) {
    if (buffer.ndim > Shape::MOST) return;
    std::copy(buffer.shape, buffer.shape + buffer.ndim, shape.copy);
    std::copy(buffer.strides, buffer.strides + buffer.ndim, shape.copy + Shape::MOST);
    shape.set(buffer.ndim, shape.copy, shape.copy + Shape::MOST, buffer.itemsize);
}

bool view_buffer(PyObject *object, View &view, Shape *shape) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
        PyErr_Clear();
        return false;
    }
    view.address = static_cast<char *>(buffer.buf);
    view.item = static_cast<size_t>(buffer.itemsize);
    view.count = view.item ? static_cast<size_t>(buffer.len) / view.item : 0;
    view.type = type_of_format(buffer.format, view.item);
    view.order = (PyBuffer_IsContiguous(&buffer, 'C') ? 1 : 0) | (PyBuffer_IsContiguous(&buffer, 'F') ? 2 : 0);
    view.writable = !buffer.readonly;
    view.device = false;
    if (shape && !(view.order & 1)) copy_shape(buffer, *shape);
    PyBuffer_Release(&buffer);  // the caller's reference keeps the memory alive
    return true;
}

bool view_foreign(PyObject *object, View &view) {
    PyObject *facts = PyObject_CallOneArg(foreign.describe, object);
    unsigned long long address = 0, count = 0, item = 0;
    int type = Other, device = 0;
    const bool known = facts && PyArg_ParseTuple(facts, "KKKiip", &address, &count, &item, &view.order, &type, &device);
    Py_XDECREF(facts);
    PyErr_Clear();  // Python describes the array once more, and raises
    view.address = reinterpret_cast<char *>(address);
    view.count = count;
    view.item = item;
    view.type = static_cast<Type>(type);
    view.writable = true;
    view.device = device;
    return known;
}

template <class T>
bool store_signed(PyObject *value, void *out) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return false;
    const T exact = static_cast<T>(number);
    std::memcpy(out, &exact, sizeof exact);
    return true;
}

template <class T>
bool store_unsigned(PyObject *value, void *out) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    if (number > std::numeric_limits<T>::max()) return false;
    const T exact = static_cast<T>(number);
    std::memcpy(out, &exact, sizeof exact);
    return true;
}

bool store_integer(PyObject *value, Type type, void *out) {
    switch (type) {
        case I8: return store_signed<int8_t>(value, out);
        case I16: return store_signed<int16_t>(value, out);
        case I32: return store_signed<int32_t>(value, out);
        case I64: return store_signed<int64_t>(value, out);
        case U8: return store_unsigned<uint8_t>(value, out);
        case U16: return store_unsigned<uint16_t>(value, out);
        case U32: return store_unsigned<uint32_t>(value, out);
        case U64: return store_unsigned<uint64_t>(value, out);
        default: return false;
    }
}

// Whether a value is complex, of Python or numpy, whose conversion to float would drop the imaginary part.
bool is_complex(PyObject *value) {
    const char *name = Py_TYPE(value)->tp_name;
    return PyComplex_Check(value) || std::strstr(name, "complex") || std::strstr(name, "clongdouble");
}

bool store_real(PyObject *value, Type type, void *out) {
    if (!PyFloat_Check(value) && !PyLong_Check(value) && is_complex(value)) return false;
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    const float single = static_cast<float>(number);
    if (type == F32 && std::isinf(single) && !std::isinf(number)) return false;
    if (type == F32) std::memcpy(out, &single, sizeof single);
    else std::memcpy(out, &number, sizeof number);
    return true;
}

template <class T>
T read(const void *in) {
    T value;
    std::memcpy(&value, in, sizeof value);
    return value;
}

// A dpnp array. Its type is kept, so that the next array of this type is not asked whether it is of another kind.
bool view_wrapped(const Dpctl &api, PyObject *object, View &view, Shape *shape) {
    PyObject *array = PyObject_GetAttr(object, api.wrapped);
    if (!array) {
        PyErr_Clear();
        return false;
    }
    const bool usm = PyObject_TypeCheck(array, api.array), live = usm && view_usm(api, array, view, shape);
    Py_DECREF(array);  // the dpnp array keeps it alive
    if (usm && Py_TYPE(object) != api.wrapper) {
        Py_INCREF(Py_TYPE(object));  // its address is not used again
        Py_XDECREF(api.wrapper);
        api.wrapper = Py_TYPE(object);
    }
    return live;
}

}  // namespace

bool arrays_known() { return dpctl().array != nullptr; }

void Layout::add(Py_ssize_t n, Py_ssize_t step) {
    if (axes && stride[axes - 1] == n * step) length[axes - 1] *= n, stride[axes - 1] = step;
    else length[axes] = n, stride[axes++] = step;
}

Layout::Layout(const View &view, const Shape &shape) {
    if (view.order & 1) {
        axes = 1, length[0] = static_cast<Py_ssize_t>(view.count), stride[0] = 1;
        return;
    }
    if (shape.axes == Shape::UNKNOWN || shape.axes > Shape::MOST) return;
    const int shift = __builtin_ctzll(static_cast<size_t>(shape.unit));  // a division takes longer than the rest
    Py_ssize_t dense = shape.unit, rests = 0;
    axes = 0;
    for (int i = 0; i < shape.axes; dense *= shape.lengths[i++]) {
        const Py_ssize_t step = shape.strides ? shape.strides[i] : dense;
        if (shape.lengths[i] == 1) continue;
        rests |= step & (shape.unit - 1);
        add(shape.lengths[i], step >> shift);
    }
    if (!axes) add(1, 1);
    if (rests) axes = Shape::UNKNOWN;
}

bool view_of(PyObject *object, View &view, Shape *shape) {
    const Dpctl &api = dpctl();
    if (!api.array) return view_buffer(object, view, shape);
    PyTypeObject *type = Py_TYPE(object);
    if (type == api.numpy && view_numpy(object, view, shape)) return true;
    if (type != api.wrapper) {
        if (PyObject_TypeCheck(object, api.array)) return view_usm(api, object, view, shape);
        if (api.memory && PyObject_TypeCheck(object, api.memory)) return view_memory(api, object, view);
        if (PyObject_CheckBuffer(object)) return view_buffer(object, view, shape);
        if (foreign.type && PyObject_TypeCheck(object, foreign.type)) return view_foreign(object, view);
    }
    return view_wrapped(api, object, view, shape);
}

void set_foreign(PyObject *type, PyObject *describe) {
    Py_INCREF(type);
    Py_INCREF(describe);
    foreign = {reinterpret_cast<PyTypeObject *>(type), describe};
}

void set_freed(std::vector<Freed> allocations) { freed = std::move(allocations); }

Py_ssize_t freed_of(PyObject *object) {
    const Dpctl &api = dpctl();
    if (!api.array || !api.memory) return -1;
    if (PyObject_TypeCheck(object, api.memory)) return freed_at(api, static_cast<char *>(api.pointer(object)), object);
    const bool bare = PyObject_TypeCheck(object, api.array);
    if (bare) Py_INCREF(object);
    PyObject *found = bare ? object : PyObject_GetAttr(object, api.wrapped);
    if (!found) PyErr_Clear();
    const bool usm = found && PyObject_TypeCheck(found, api.array);
    const auto *array = reinterpret_cast<UsmArray *>(found);
    const Py_ssize_t index = usm ? freed_at(api, array->data, array->base) : -1;
    Py_XDECREF(found);
    return index;
}

bool store_scalar(PyObject *value, Type type, void *out) {
    if (type == F32 || type == F64) return store_real(value, type, out);
    if (type == Bool) {
        const bool truth = value == Py_True;
        std::memcpy(out, &truth, 1);
        return truth || value == Py_False;
    }
    if (PyLong_Check(value)) return store_integer(value, type, out);
    PyObject *index = PyNumber_Index(value);  // accepts numpy's integers, rejects floats
    if (!index) {
        PyErr_Clear();
        return false;
    }
    const bool stored = store_integer(index, type, out);
    Py_DECREF(index);
    return stored;
}

PyObject *load_scalar(const void *in, Type type) {
    switch (type) {
        case Bool: return PyBool_FromLong(read<uint8_t>(in));
        case I8: return PyLong_FromLong(read<int8_t>(in));
        case I16: return PyLong_FromLong(read<int16_t>(in));
        case I32: return PyLong_FromLong(read<int32_t>(in));
        case I64: return PyLong_FromLongLong(read<int64_t>(in));
        case U8: return PyLong_FromLong(read<uint8_t>(in));
        case U16: return PyLong_FromLong(read<uint16_t>(in));
        case U32: return PyLong_FromUnsignedLong(read<uint32_t>(in));
        case U64: return PyLong_FromUnsignedLongLong(read<uint64_t>(in));
        case F32: return PyFloat_FromDouble(read<float>(in));
        case F64: return PyFloat_FromDouble(read<double>(in));
        default: return nullptr;
    }
}

}  // namespace ishmem
