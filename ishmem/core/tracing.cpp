// Traced: an object that stands for a public routine while a job is traced. A call records when it began and ended, and
// what its arguments say: peer, bytes, offset in the heap, value, team. Only the outermost call of a thread counts.
// Events are a ring in memory, which ishmem/runtime/trace_file.py writes to a file. The interpreter's lock protects all.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <new>
#include <vector>

#include "heap.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

using namespace traces;  // of numbers.hpp
using Event = Call;

struct Recorder {
    Event *events = nullptr;
    size_t capacity = 0;
    uint64_t count = 0;                  // of events since the start; the ring keeps the last `capacity`
    std::vector<unsigned long> threads;  // identifiers, in the order of first calls
    PyObject *labels = nullptr;          // names of kernels -> numbers
    uint32_t generation = 0;

    bool on() const { return events != nullptr; }
} recorder;

thread_local int depth = 0;
thread_local uint32_t thread_generation = 0;
thread_local uint16_t thread_number = 0;

// The parameters that an event is made from, each with the names it goes by.
enum Parameter {
    Self, Dest, Source, Pe, Root, Nelems, Bsize, Nblocks, Index, Value, Cmp, TeamOf, SigOp, Flag, Kernel, Queue, PARAMETERS
};
constexpr const char *NAMES[PARAMETERS][4] = {
    {"self"}, {"dest"}, {"source", "x"}, {"pe"}, {"root"}, {"nelems"}, {"bsize"}, {"nblocks"}, {"index"},
    {"signal", "cmp_value", "value"}, {"cmp"}, {"team"}, {"sig_op"}, {"sig_addr", "ivar", "ivars", "lock"}, {"kernel_fn"},
    {"sycl_queue", "queue"},
};

struct Traced {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original, *function, *after;  // `function` is what a call calls: `original`, or a wrapper of it
    PyObject *names[PARAMETERS];            // of the routine's parameters that are in NAMES; null: it has none of these
    Py_ssize_t positions[PARAMETERS];          // their positions; -1: it has none of these
    uint16_t number;
    bool collective;
    uint64_t calls;
    int64_t nanoseconds, bytes;
    PyObject *weak_references;
};

struct Attributes {
    PyObject *handle = PyUnicode_InternFromString("handle"), *team = PyUnicode_InternFromString("team"),
             *name = PyUnicode_InternFromString("__name__");
};

const Attributes &attributes() {
    static const Attributes made;
    return made;
}

Traced &traced(PyObject *object) { return *reinterpret_cast<Traced *>(object); }

PyObject *new_reference(PyObject *object) {
    Py_INCREF(object);
    return object;
}

int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

uint16_t this_thread() {
    if (thread_generation != recorder.generation) {
        thread_generation = recorder.generation;
        thread_number = static_cast<uint16_t>(recorder.threads.size());
        recorder.threads.push_back(PyThread_get_thread_ident());
    }
    return thread_number;
}

// The arguments of one call.
struct Arguments {
    const Traced &self;
    PyObject *const *given;
    Py_ssize_t count;
    PyObject *keywords;

    // Returns a borrowed reference; null when the routine has no such parameter, or the caller leaves it out.
    PyObject *get(Parameter parameter) const {
        const Py_ssize_t position = self.positions[parameter];
        if (position < 0) return nullptr;
        if (position < count) return given[position];
        const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
        for (Py_ssize_t i = 0; i < named; ++i) {
            if (PyUnicode_Compare(PyTuple_GET_ITEM(keywords, i), self.names[parameter]) == 0) return given[count + i];
        }
        return nullptr;
    }

    bool has(Parameter parameter) const { return self.positions[parameter] >= 0; }

    bool number(Parameter parameter, Py_ssize_t &value) const {
        PyObject *object = get(parameter);
        return object && object != Py_None && integer_of(object, value);
    }

    bool view(Parameter parameter, View &found) const {
        PyObject *object = get(parameter);
        return object && object != Py_None && view_of(object, found);
    }
};

// Returns the handle of a team, given itself or its handle; -1 for other objects.
Py_ssize_t handle_of(PyObject *team) {
    Py_ssize_t handle = -1;
    if (PyLong_Check(team)) return integer_of(team, handle) ? handle : -1;
    PyObject *found = PyObject_GetAttr(team, attributes().handle);
    if (!found || !integer_of(found, handle)) handle = -1;
    Py_XDECREF(found);
    PyErr_Clear();
    return handle;
}

const Team *team_at(Py_ssize_t handle) {
    if (handle < 0 || handle >= static_cast<Py_ssize_t>(MAX_TEAMS)) return nullptr;
    const Team &team = heap().teams[handle];
    return team.size ? &team : nullptr;
}

// The team of a context, whose methods number PEs in it; null for other objects.
const Team *team_of_context(PyObject *context) {
    PyObject *team = PyObject_GetAttr(context, attributes().team);
    PyErr_Clear();
    const Team *found = team ? team_at(handle_of(team)) : nullptr;
    Py_XDECREF(team);
    return found;
}

void note_peer(const Arguments &arguments, Event &event) {
    Py_ssize_t pe = -1;
    if (!arguments.number(Pe, pe)) return;
    event.pe = static_cast<int32_t>(pe);
    PyObject *context = arguments.get(Self);
    const Team *team = context ? team_of_context(context) : nullptr;
    if (team && pe >= 0 && pe < team->size) event.pe = team->pe(static_cast<int>(pe));
}

void note_team(const Arguments &arguments, Event &event) {
    if (!arguments.self.collective && !arguments.has(TeamOf)) return;
    PyObject *given = arguments.has(TeamOf) ? arguments.get(TeamOf) : arguments.get(Self);
    const Team *team = team_at(given && given != Py_None ? handle_of(given) : 0);
    if (!team) return;
    const bool has_stride = team->members.empty();
    event.start = has_stride ? team->start : static_cast<int32_t>(team - heap().teams);
    event.stride = has_stride ? team->stride : 0;
    event.size = team->size;
    Py_ssize_t root = -1;
    if (!arguments.number(Root, root) || root < 0 || root >= team->size) return;
    event.pe = team->pe(static_cast<int>(root));
    event.flags |= Rooted;
}

// Finds the array whose size tells the bytes: `source` of a collective call, whose `dest` may have another size; else, of
// two, one in device memory, which is cheaper to look at.
bool find_data(const Arguments &arguments, View &found) {
    if (!arguments.has(Pe)) return arguments.view(Source, found) || arguments.view(Dest, found);
    for (Parameter each : {Dest, Source}) {
        PyObject *object = arguments.get(each);
        if (object && !PyObject_CheckBuffer(object) && arguments.view(each, found) && found.device) return true;
    }
    return arguments.view(Dest, found) || arguments.view(Source, found);
}

void note_bytes(const Arguments &arguments, const View &data, Event &event) {
    Py_ssize_t count = 1, blocks = 1;
    const bool one = arguments.has(Index) && !arguments.has(Nelems);  // an atomic, p or g
    if (arguments.number(Bsize, count) && arguments.number(Nblocks, blocks)) count *= blocks;
    else if (!arguments.number(Nelems, count)) {
        count = one ? 1 : static_cast<Py_ssize_t>(data.count);
        if (arguments.has(TeamOf)) event.flags |= Whole;
    }
    if (arguments.has(Pe) || arguments.has(Source)) event.bytes = count * static_cast<int64_t>(data.item);
}

// Notes the bytes, and the offset of the flag, or else of the data, in the symmetric heap.
void note_data(const Arguments &arguments, Event &event) {
    View data, flag;
    const bool has_data = find_data(arguments, data), has_flag = arguments.view(Flag, flag);
    if (has_data || has_flag) note_bytes(arguments, has_data ? data : flag, event);
    const View &at = has_flag ? flag : data;
    if (!(has_data || has_flag) || !at.device) return;
    Py_ssize_t index = 0;
    arguments.number(Index, index);
    const ptrdiff_t offset = heap().offset_of(at.address, at.item);
    if (offset >= 0) event.offset = offset + index * static_cast<int64_t>(at.item);
}

void note_value(const Arguments &arguments, Event &event) {
    int overflow = 0;
    PyObject *value = arguments.get(Value);
    if (value && PyLong_Check(value)) {
        event.value = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow) event.flags |= HasValue;
    }
    Py_ssize_t code = 0;
    if (arguments.number(Cmp, code)) event.cmp = static_cast<uint8_t>(code);
    if (arguments.number(SigOp, code) && code) event.flags |= Adds;
}

void note_kernel(const Arguments &arguments, Event &event) {
    PyObject *kernel = arguments.get(Kernel);
    if (!kernel || !recorder.labels) return;
    PyObject *name = PyObject_GetAttr(kernel, attributes().name);
    if (!name) return;
    PyObject *known = PyDict_GetItemWithError(recorder.labels, name);
    if (!known) {
        PyObject *number = PyLong_FromSsize_t(PyDict_GET_SIZE(recorder.labels) + 1);
        if (number) PyDict_SetItem(recorder.labels, name, number);
        Py_XDECREF(number);
        known = PyDict_GetItemWithError(recorder.labels, name);
    }
    Py_DECREF(name);
    if (known) event.label = static_cast<uint16_t>(PyLong_AsLong(known));
}

Event described(const Arguments &arguments) {
    Event event = {};
    event.pe = -1;
    event.offset = -1;
    event.routine = arguments.self.number;
    event.thread = this_thread();
    note_peer(arguments, event);
    note_team(arguments, event);
    note_data(arguments, event);
    note_value(arguments, event);
    note_kernel(arguments, event);
    PyErr_Clear();
    return event;
}

// Hands what the call has submitted to a queue to `after`, which notes when it completes.
bool tell_submitted(const Traced &self, const Arguments &arguments, PyObject *result, uint64_t ticket) {
    PyObject *queue = arguments.get(Queue);
    PyObject *number = PyLong_FromUnsignedLongLong(ticket);
    PyObject *told = number ? PyObject_CallFunctionObjArgs(self.after, result, number, queue ? queue : Py_None, nullptr) : nullptr;
    Py_XDECREF(number);
    Py_XDECREF(told);
    return told != nullptr;
}

PyObject *record(Traced &self, const Arguments &arguments, size_t flags) {
    Event event = described(arguments);
    const uint64_t ticket = recorder.count;
    const uint32_t generation = recorder.generation;
    event.begin = now();
    if (recorder.on()) recorder.events[recorder.count++ % recorder.capacity] = event;
    PyObject *result = PyObject_Vectorcall(self.function, arguments.given, flags, arguments.keywords);
    event.end = now();
    if (!result) event.flags |= Raised;
    self.calls += 1;
    self.nanoseconds += event.end - event.begin;
    self.bytes += event.bytes;
    const bool kept = recorder.on() && generation == recorder.generation && recorder.count - ticket <= recorder.capacity;
    if (kept) recorder.events[ticket % recorder.capacity] = event;
    if (kept && result && self.after != Py_None && !tell_submitted(self, arguments, result, ticket)) Py_CLEAR(result);
    return result;
}

PyObject *call(PyObject *object, PyObject *const *given, size_t flags, PyObject *keywords) {
    Traced &self = traced(object);
    if (depth) return PyObject_Vectorcall(self.original, given, flags, keywords);
    ++depth;
    Py_INCREF(object);
    PyObject *result = record(self, {self, given, PyVectorcall_NARGS(flags), keywords}, flags);
    Py_DECREF(object);
    --depth;
    return result;
}

// Finds the parameters that events are made from among the names of all.
void read_names(Traced &self, PyObject *names) {
    std::fill(self.positions, self.positions + PARAMETERS, -1);
    for (Py_ssize_t position = PyTuple_GET_SIZE(names) - 1; position >= 0; --position) {
        PyObject *name = PyTuple_GET_ITEM(names, position);
        for (int each = 0; each < PARAMETERS; ++each) {
            for (const char *alias : NAMES[each]) {
                if (!alias || !PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, alias) != 0) continue;
                Py_XDECREF(self.names[each]);
                self.names[each] = new_reference(name);
                self.positions[each] = position;
            }
        }
    }
}

PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *original, *function, *names, *after;
    int number, collective;
    if (!PyArg_ParseTuple(arguments, "OOiO!pO", &original, &function, &number, &PyTuple_Type, &names, &collective, &after)) return nullptr;
    PyObject *made = type->tp_alloc(type, 0);
    if (!made) return nullptr;
    Traced &self = traced(made);
    self.call = &call;
    self.original = new_reference(original);
    self.function = new_reference(function);
    self.after = new_reference(after);
    self.number = static_cast<uint16_t>(number);
    self.collective = collective;
    read_names(self, names);
    return made;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
    const Traced &self = traced(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self.original);
    Py_VISIT(self.function);
    Py_VISIT(self.after);
    return 0;
}

int clear(PyObject *object) {
    Traced &self = traced(object);
    Py_CLEAR(self.original);
    Py_CLEAR(self.function);
    Py_CLEAR(self.after);
    for (PyObject *&name : self.names) Py_CLEAR(name);
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

PyObject *represent(PyObject *object) { return PyObject_Repr(traced(object).original); }

// Makes the type a descriptor, as functions are: classes have traced methods.
PyObject *bound(PyObject *object, PyObject *instance, PyObject *) {
    return instance && instance != Py_None ? PyMethod_New(object, instance) : new_reference(object);
}

PyObject *counters(const Traced &self) {
    return Py_BuildValue("KLL", static_cast<unsigned long long>(self.calls), static_cast<long long>(self.nanoseconds),
                         static_cast<long long>(self.bytes));
}

// All attributes are those of the routine, so that help(), inspect and numba take this object for it.
PyObject *attribute(PyObject *object, PyObject *name) {
    const Traced &self = traced(object);
    if (PyUnicode_CompareWithASCIIString(name, "__traced__") == 0) return new_reference(self.original);
    if (PyUnicode_CompareWithASCIIString(name, "__counters__") == 0) return counters(self);
    return PyObject_GetAttr(self.original, name);
}

// Equal to the routine, with its hash: numba finds a function's device form by both.
Py_hash_t hash(PyObject *object) { return PyObject_Hash(traced(object).original); }

PyObject *compare(PyObject *object, PyObject *other, int operation) {
    if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    PyObject *second = Py_TYPE(other) == Py_TYPE(object) ? traced(other).original : other;
    return PyBool_FromLong((traced(object).original == second) == (operation == Py_EQ));
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Traced, call), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Traced, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(&make)},
    {Py_tp_call, reinterpret_cast<void *>(&PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(&clear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(&release)},
    {Py_tp_repr, reinterpret_cast<void *>(&represent)},
    {Py_tp_descr_get, reinterpret_cast<void *>(&bound)},
    {Py_tp_getattro, reinterpret_cast<void *>(&attribute)},
    {Py_tp_hash, reinterpret_cast<void *>(&hash)},
    {Py_tp_richcompare, reinterpret_cast<void *>(&compare)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {"ishmem._core.Traced", sizeof(Traced), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                    slots};

void stop() {
    if (recorder.events) munmap(recorder.events, recorder.capacity * sizeof(Event));
    Py_XDECREF(recorder.labels);
    const uint32_t generation = recorder.generation + 1;
    recorder = Recorder{};
    recorder.generation = generation;
}

// Pages that no event has reached take no memory.
void start(size_t capacity) {
    stop();
    recorder.labels = PyDict_New();
    if (!capacity) return;
    void *memory = mmap(nullptr, capacity * sizeof(Event), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    recorder.events = static_cast<Event *>(memory);
    recorder.capacity = capacity;
}

// Returns the events, oldest first, and the number of the first.
nb::tuple events() {
    const uint64_t kept = std::min<uint64_t>(recorder.count, recorder.capacity), first = recorder.count - kept;
    std::vector<Event> found;
    found.reserve(kept);
    for (uint64_t ticket = first; ticket < recorder.count; ++ticket) found.push_back(recorder.events[ticket % recorder.capacity]);
    return nb::make_tuple(nb::bytes(reinterpret_cast<const char *>(found.data()), kept * sizeof(Event)), first);
}

}  // namespace

void bind_tracing(nb::module_ &m) {
    PyObject *type = PyType_FromSpec(&spec);
    if (!type || PyModule_AddObject(m.ptr(), "Traced", type) != 0) throw nb::python_error();
    m.def("trace_start", &start);
    m.def("trace_stop", &stop);
    m.def("trace_events", &events);
    m.def("trace_threads", [] { return recorder.threads; });
    m.def("trace_labels", [] { return recorder.labels ? nb::borrow<nb::dict>(recorder.labels) : nb::dict(); });
}

}  // namespace ishmem
