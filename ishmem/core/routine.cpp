// Routine: the type of public functions that have a function in the core. A call runs the core's function first, without
// a frame of the interpreter. That returns the result, raises, or returns NotImplemented: it supports the arguments only
// in another form, or they are wrong. The call then runs the Python function with the same arguments, which raises the
// error that explains, or calls `core` with the arguments in a form that the core supports.
#include "routine.hpp"

#include <algorithm>
#include <utility>

namespace ishmem {
namespace {

using FastFunction = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);
constexpr size_t MOST_PARAMETERS = 8;

struct Routine {
    PyObject_HEAD
    vectorcallfunc call;
    FastFunction fast;
    PyObject *bound;     // what the core's function takes first: the module, or the code of an atomic
    size_t required, parameters;
    PyObject *names;     // of the parameters, a tuple that may go on with other names
    PyObject *defaults;  // of the last parameters, or None
    PyObject *function, *dict, *weak_references;
};

PyObject *new_reference(PyObject *object) {
    Py_INCREF(object);
    return object;
}

Routine *routine(PyObject *self) { return reinterpret_cast<Routine *>(self); }

// Names in the source of a call are interned, so pointers are compared; other names take the Python function.
size_t index_of(const Routine &self, PyObject *name) {
    size_t index = 0;
    while (index < self.parameters && PyTuple_GET_ITEM(self.names, index) != name) ++index;
    return index;
}

// Writes one value for each parameter to `all`. Returns false if the arguments do not fit the parameters.
bool arrange(const Routine &self, PyObject *const *given, size_t count, PyObject *keywords, PyObject **all) {
    if (count > self.parameters) return false;
    std::copy(given, given + count, all);
    std::fill(all + count, all + self.parameters, nullptr);
    const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
        const size_t index = index_of(self, PyTuple_GET_ITEM(keywords, i));
        if (index == self.parameters || all[index]) return false;
        all[index] = given[count + static_cast<size_t>(i)];
    }
    for (size_t i = count; i < self.parameters; ++i) {
        if (!all[i] && i < self.required) return false;
        if (!all[i]) all[i] = PyTuple_GET_ITEM(self.defaults, i - self.required);
    }
    return true;
}

struct CoreCall {
    const Routine &routine;
    PyObject *const *given;  // one for each parameter
};

// The call whose core function this thread runs, which has no frame: reports and errors of waits describe it.
[[gnu::tls_model("initial-exec")]] thread_local const CoreCall *running = nullptr;

PyObject *run(const Routine &self, PyObject *const *all) {
    const CoreCall mine = {self, all};
    const CoreCall *before = std::exchange(running, &mine);
    PyObject *result = self.fast(self.bound, all, static_cast<Py_ssize_t>(self.parameters));
    running = before;
    return result;
}

PyObject *call(PyObject *object, PyObject *const *given, size_t flags, PyObject *keywords) {
    const Routine &self = *routine(object);
    PyObject *all[MOST_PARAMETERS];
    if (arrange(self, given, static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords, all)) {
        PyObject *result = run(self, all);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
    }
    return PyObject_Vectorcall(self.function, given, flags, keywords);
}

// The method `core`: runs the core's function only.
PyObject *call_core(PyObject *object, PyObject *const *given, Py_ssize_t count) {
    const Routine &self = *routine(object);
    if (static_cast<size_t>(count) == self.parameters) return run(self, given);
    return PyErr_Format(PyExc_TypeError, "%R: %zd arguments given, %zu wanted", self.function, count, self.parameters);
}

bool read_parameters(Routine &self) {
    auto *code = reinterpret_cast<PyCodeObject *>(PyFunction_GetCode(self.function));
    PyObject *defaults = PyFunction_GetDefaults(self.function);
    self.names = PyObject_GetAttrString(reinterpret_cast<PyObject *>(code), "co_varnames");
    self.defaults = new_reference(defaults ? defaults : Py_None);
    self.parameters = static_cast<size_t>(code->co_argcount);
    self.required = self.parameters - static_cast<size_t>(defaults ? PyTuple_GET_SIZE(defaults) : 0);
    if (self.names && self.parameters > MOST_PARAMETERS) PyErr_SetString(PyExc_ValueError, "too many parameters");
    return !PyErr_Occurred();
}

PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *fast, *function;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyCFunction_Type, &fast, &PyFunction_Type, &function)) return nullptr;
    PyObject *made = type->tp_alloc(type, 0);
    if (!made) return nullptr;
    Routine &self = *routine(made);
    self.call = &call;
    self.fast = reinterpret_cast<FastFunction>(reinterpret_cast<void (*)()>(PyCFunction_GetFunction(fast)));
    self.bound = new_reference(PyCFunction_GetSelf(fast));
    self.function = new_reference(function);
    if (read_parameters(self)) return made;
    Py_DECREF(made);
    return nullptr;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
    const Routine &self = *routine(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self.bound);
    Py_VISIT(self.function);
    Py_VISIT(self.defaults);
    Py_VISIT(self.dict);
    return 0;
}

int clear(PyObject *object) {
    Routine &self = *routine(object);
    Py_CLEAR(self.bound);
    Py_CLEAR(self.names);
    Py_CLEAR(self.defaults);
    Py_CLEAR(self.function);
    Py_CLEAR(self.dict);
    return 0;
}

void release(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    PyObject_ClearWeakRefs(object);
    clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject *represent(PyObject *object) { return PyObject_Repr(routine(object)->function); }

// Makes the type a descriptor, as functions are, so that help() and inspect take a routine for a function.
PyObject *bound(PyObject *object, PyObject *instance, PyObject *) {
    return instance && instance != Py_None ? PyMethod_New(object, instance) : new_reference(object);
}

// Pickles a routine as a function is pickled: by its name.
PyObject *reduce(PyObject *object, PyObject *) { return PyObject_GetAttrString(routine(object)->function, "__qualname__"); }

PyMethodDef methods[] = {
    {"__reduce__", &reduce, METH_NOARGS, nullptr},
    {"core", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_core)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Routine, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Routine, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Routine, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(&make)},
    {Py_tp_call, reinterpret_cast<void *>(&PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(&clear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(&release)},
    {Py_tp_repr, reinterpret_cast<void *>(&represent)},
    {Py_tp_descr_get, reinterpret_cast<void *>(&bound)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, nullptr},
};

PyType_Spec spec = {"ishmem._core.Routine", sizeof(Routine), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

PyObject *running_name() {
    return running ? PyObject_GetAttrString(running->routine.function, "__name__") : PyUnicode_FromString("");
}

PyObject *running_arguments() {
    PyObject *all = PyDict_New();
    for (size_t i = 0; all && running && i < running->routine.parameters; ++i)
        if (PyDict_SetItem(all, PyTuple_GET_ITEM(running->routine.names, i), running->given[i])) Py_CLEAR(all);
    return all;
}

bool add_routine_type(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    return type && PyModule_AddObject(module, "Routine", type) == 0;
}

}  // namespace ishmem
