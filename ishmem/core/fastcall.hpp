// Wraps plain C++ functions as METH_FASTCALL functions of Python's C API. A call costs half as much as through
// nanobind, which resolves overloads and converts arguments. Only ishmem's own Python code calls them, with
// positional arguments.
#pragma once
#include <type_traits>
#include <utility>

#include "operations.hpp"
#include "unfinished_work.hpp"

namespace ishmem {

template <class T>
T argument_of(PyObject *given) {
    if constexpr (std::is_same_v<T, double>) return PyFloat_AsDouble(given);
    else if constexpr (std::is_same_v<T, bool>) return given == Py_True;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(PyLong_AsLong(given));
    else return given;
}

inline PyObject *result_of(PyObject *result) { return result; }
inline PyObject *result_of(bool result) { return !result && PyErr_Occurred() ? nullptr : PyBool_FromLong(result); }
inline PyObject *result_of(Done result) {
    if (!result.done && PyErr_Occurred()) return nullptr;
    PyObject *object = result.done ? Py_None : Py_NotImplemented;
    Py_INCREF(object);
    return object;
}
inline PyObject *result_of(Outcome outcome) {
    if (outcome == BadArguments) return not_implemented();
    return outcome == Interrupted ? nullptr : PyLong_FromLong(outcome);
}

template <class... T>
constexpr bool has_numbers = (... || (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>));

template <auto Function, class Result, class... T, size_t... I>
PyObject *apply(Result (*)(T...), PyObject *const *given, std::index_sequence<I...>) {
    std::tuple<T...> arguments{argument_of<T>(given[I])...};
    if (has_numbers<T...> && PyErr_Occurred()) return nullptr;
    return result_of(Function(std::get<I>(arguments)...));
}

template <class Result, class... T>
constexpr Py_ssize_t arity(Result (*)(T...)) { return sizeof...(T); }

template <auto Function>
PyObject *fastcall(PyObject *, PyObject *const *given, Py_ssize_t count) {
    if (count != arity(Function)) {
        PyErr_Format(PyExc_TypeError, "ishmem._core: %zd arguments given, %zd wanted", count, arity(Function));
        return nullptr;
    }
    if (!settle_submitted()) return nullptr;
    return apply<Function>(Function, given, std::make_index_sequence<arity(Function)>{});
}

template <auto Function>
constexpr PyMethodDef method(const char *name) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&fastcall<Function>)), METH_FASTCALL, nullptr};
}

}  // namespace ishmem
