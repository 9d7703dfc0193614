#include "python_calls.hpp"

#include "bindings.hpp"
#include "routine.hpp"

namespace ishmem {
namespace {

struct Help {
    PyObject *copy, *complete, *map, *atomic, *unsatisfied, *incomplete_barrier, *failed_collective;
} help;

bool done(PyObject *result) {
    Py_XDECREF(result);
    return result;
}

unsigned long long number(const void *address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

bool copy_by_engine(char *to, const char *from, size_t bytes, PyObject *local) {
    return done(PyObject_CallFunction(help.copy, "KKnO", number(to), number(from), static_cast<Py_ssize_t>(bytes), local));
}

bool complete_engine() { return done(PyObject_CallNoArgs(help.complete)); }

bool map_private(const char *address, size_t bytes, Access access) {
    PyObject *is_write = access == Access::Write ? Py_True : Py_False;
    PyObject *mapped = PyObject_CallFunction(help.map, "KnO", number(address), static_cast<Py_ssize_t>(bytes), is_write);
    Py_XDECREF(mapped);
    return mapped == Py_True;
}

PyObject *atomic_by_kernel(int rmw, PyObject *target, PyObject *pe, PyObject *index, PyObject *value, PyObject *cond) {
    return PyObject_CallFunction(help.atomic, "iOOOOO", rmw, target, pe, index, value, cond);
}

PyObject *unsatisfied(Outcome outcome, const Unsatisfied &v) {
    nb::object seen = nb::steal(v.seen), name = nb::steal(running_name());
    if (outcome == Interrupted) return nullptr;
    return PyObject_CallFunction(help.unsatisfied, "OiiOOOOO", name.ptr(), outcome, v.mode, v.index, seen.ptr(), v.compare, v.wanted, v.timeout);
}

PyObject *incomplete_barrier(Outcome outcome) {
    return outcome == Interrupted ? nullptr : PyObject_CallFunction(help.incomplete_barrier, "Ni", running_name(), outcome);
}

PyObject *failed_collective(int verdict, unsigned routine, unsigned team) {
    return PyObject_CallFunction(help.failed_collective, "iII", verdict, routine, team);
}

void bind_python_calls(nb::module_ &m) {
    m.def("help_by", [](nb::object copy, nb::object complete, nb::object map, nb::object atomic, nb::object wait, nb::object barrier, nb::object collective) {
        help = {copy.release().ptr(), complete.release().ptr(), map.release().ptr(), atomic.release().ptr(),
                wait.release().ptr(), barrier.release().ptr(), collective.release().ptr()};
    }, nb::kw_only(), nb::arg("copy"), nb::arg("complete"), nb::arg("map"), nb::arg("atomic"), nb::arg("unsatisfied"),
       nb::arg("incomplete_barrier"), nb::arg("failed_collective"));
}

}  // namespace ishmem
