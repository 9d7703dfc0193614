// The calls of collectives from Python: checks of arguments, and what Python asks for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings.hpp"
#include "collectives.hpp"
#include "python_calls.hpp"

namespace ishmem {

Config &config() {
    static Config &only = *new Config;
    return only;
}

namespace {

// What a call returns to Python: None, NotImplemented where it was declined, or null with the exception that explains.
PyObject *ended(Verdict verdict, const Call &call) {
    if (PyErr_Occurred()) return nullptr;
    if (verdict == Declined) return not_implemented();
    if (verdict != Finished) return failed_collective(verdict, call.routine, call.handle);
    Py_RETURN_NONE;
}

nb::object raised_or(PyObject *result) {
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

// Converts a team argument. False when it is no Python team, and when the team was destroyed or lacks this PE.
bool team_of(PyObject *object, unsigned &handle) {
    static PyObject *world = nullptr;  // recognised by address, which saves a tenth of the time of the shortest calls
    if (object == world) {
        handle = 0;
        return heap().n_pes != 0;
    }
    static PyObject *const names[] = {PyUnicode_InternFromString("handle"), PyUnicode_InternFromString("_shape")};
    PyObject *number = PyObject_GetAttr(object, names[0]);
    Py_ssize_t value = -1;
    const bool given = number && integer_of(number, value);
    Py_XDECREF(number);
    PyErr_Clear();
    if (!given || value < 0 || value >= static_cast<Py_ssize_t>(MAX_TEAMS)) return false;
    handle = static_cast<unsigned>(value);
    const Team &team = heap().teams[handle];
    if (heap().n_pes == 0 || team.size < 1 || team.me < 0) return false;
    PyObject *shape = PyObject_GetAttr(object, names[1]);
    PyErr_Clear();
    Py_XDECREF(shape);  // the team holds a reference
    if (!world && shape == Py_None && handle == 0) Py_INCREF(world = object);
    return shape == Py_None || shape == team.shape;
}

bool location_of(const View &view, uint64_t &location) {
    if (view.device) {
        const ptrdiff_t offset = heap().offset_of(view.address, view.bytes());
        location = static_cast<uint64_t>(offset);
        if (offset >= 0) return true;
    }
    const auto found = heap().static_place(view.address, view.bytes());
    location = static_cast<uint64_t>(found.first) << 48 | found.second;
    return found.first != 0;
}

// The type that elements are combined as: `dtype` may name one of which arrays of integers hold the bits.
Type combined_type(PyObject *dtype, Type given) {
    if (dtype == Py_None) return given;
    const bool has_bits = given == I16 || given == U16 || given == BF16;
    return has_bits && PyUnicode_Check(dtype) && !PyUnicode_CompareWithASCIIString(dtype, "bfloat16") ? BF16 : Other;
}

bool arrays_of(PyObject *dest, PyObject *source, PyObject *dtype, Call &call) {
    View &to = call.dest.view, &from = call.source.view;
    if (!view_of(dest, to) || !view_of(source, from)) return false;
    call.type = combined_type(dtype, to.type);
    if (to.type != from.type || call.type == Other || !(config().types[call.routine] >> call.type & 1)) return false;
    if (!(to.order & from.order) || !to.writable) return false;
    call.item = to.item;
    return location_of(to, call.dest.location) && location_of(from, call.source.location);
}

bool overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

// How many blocks of `count` elements `dest` and `source` hold.
std::pair<size_t, size_t> blocks_of(const Call &call) {
    const size_t n = static_cast<size_t>(call.size());
    const Traits &of = traits(call.routine);
    return {of.dest_blocks ? n : 1, of.source_blocks ? n : 1};
}

// Computes the elements of a block; false when the sizes of the arrays do not match it.
bool count_of(PyObject *nelems, Call &call) {
    const auto [to_blocks, from_blocks] = blocks_of(call);
    const size_t to = call.dest.view.count, from = call.source.view.count;
    if (nelems == Py_None) {
        call.count = call.routine == Scatter ? to : from / from_blocks;
        return from == call.count * from_blocks && (call.routine == Collect || to == call.count * to_blocks);
    }
    Py_ssize_t asked;
    if (!integer_of(nelems, asked) || asked < 0) return false;
    call.count = static_cast<size_t>(asked);
    return (call.routine == Collect || call.count <= to / to_blocks) && call.count <= from / from_blocks;
}

// Returns whether the overlap of dest and source is allowed: none; identical arrays for broadcast and reductions; this
// PE's own block in place for fcollect, gather and scatter.
bool apart(const Call &call) {
    const auto [to_blocks, from_blocks] = blocks_of(call);
    const char *to = call.dest.view.address, *from = call.source.view.address;
    const size_t to_bytes = (call.routine == Collect ? call.dest.view.count * call.item : to_blocks * call.bytes);
    if (!overlap(to, to_bytes, from, from_blocks * call.bytes) || !call.bytes) return true;
    const size_t own = static_cast<size_t>(call.me()) * call.bytes;
    switch (traits(call.routine).in_place) {
        case InPlace::OwnBlock: return to_blocks > from_blocks ? from == to + own : to == from + own;
        case InPlace::Same: return to == from;
        default: return false;
    }
}

bool has_root(Routine routine) { return traits(routine).root != Root::None; }

bool root_of(PyObject *root, Call &call) {
    call.root = -1;
    if (!has_root(call.routine)) return true;
    Py_ssize_t value;
    if (!integer_of(root, value) || value < 0 || value >= call.size()) return false;
    call.root = static_cast<int>(value);
    return true;
}

bool begin(unsigned routine, PyObject *dest, PyObject *source, PyObject *root, PyObject *team, Call &call, PyObject *dtype = Py_None) {
    if (routine >= config().types.size() || !team_of(team, call.handle)) return false;
    call.routine = static_cast<Routine>(routine);
    call.team = &heap().teams[call.handle];
    call.extra = 0;
    return root_of(root, call) && arrays_of(dest, source, dtype, call);
}

// The function of a collective whose blocks have one size, bound to the number of the routine. The arguments are the
// arrays, the root if there is one, team, number of elements, and the dtype of some.
PyObject *collective(PyObject *bound, PyObject *const *given, Py_ssize_t count) {
    if (!settle_submitted()) return nullptr;
    const unsigned routine = static_cast<unsigned>(PyLong_AsLong(bound));
    const int roots = has_root(static_cast<Routine>(routine));
    PyObject *root = roots ? given[2] : Py_None, *const *others = given + 2 + roots;  // team, nelems, dtype
    Call call;
    Verdict verdict = Declined;
    if (begin(routine, given[0], given[1], root, others[0], call, count > 4 + roots ? others[2] : Py_None) && count_of(others[1], call)) {
        call.bytes = call.count * call.item;
        if (apart(call)) verdict = enter(call);
    }
    return ended(verdict, call);
}

PyMethodDef of_collectives = {"collective", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&collective)), METH_FASTCALL, nullptr};

// Reads the strides and the elements of a block of alltoalls; false where the arrays do not have them, or overlap.
bool strides_of(PyObject *dst, PyObject *sst, PyObject *nelems, Call &call) {
    const View &to = call.dest.view, &from = call.source.view;
    Blocks blocks{0, 0, 1, 0};
    Py_ssize_t count;
    if (!integer_of(dst, blocks.to_step) || !integer_of(sst, blocks.from_step) || !integer_of(nelems, count)) return false;
    if (std::max(blocks.to_step, blocks.from_step) >> 31 || __builtin_mul_overflow(count, call.size(), &blocks.count)) return false;
    size_t dest, source;
    if (!blocks.extent(blocks.to_step, dest) || !blocks.extent(blocks.from_step, source)) return false;
    if (dest > to.count || source > from.count) return false;
    call.dst = blocks.to_step, call.sst = blocks.from_step, call.count = static_cast<size_t>(count);
    call.bytes = call.count * call.item;
    call.extra = static_cast<uint64_t>(call.dst) << 32 | static_cast<uint64_t>(call.sst);
    return !count || !overlap(to.address, to.bytes(), from.address, std::min(source + static_cast<size_t>(call.sst) - 1, from.count) * call.item);
}

// The forms with counts, which Python has checked.
uint64_t hash_of(const std::vector<size_t> &numbers, uint64_t hash) {
    for (size_t number : numbers) hash = (hash ^ number) * 1099511628211u;
    return hash;
}

nb::object with_counts(unsigned routine, nb::handle dest, nb::handle source, nb::handle root, nb::handle team, const std::vector<std::vector<size_t>> &lists) {
    if (!settle_submitted()) throw nb::python_error();
    Call call;
    if (lists.size() != 4 || !begin(routine, dest.ptr(), source.ptr(), root.ptr(), team.ptr(), call)) return nb::steal(not_implemented());
    call.dest_counts = lists[0];
    call.dest_places = lists[1];
    call.source_counts = lists[2];
    call.source_places = lists[3];
    const size_t n = static_cast<size_t>(call.size());
    if (call.routine == Alltoallv && 3 * n * sizeof(uint64_t) > config().payload()) return nb::steal(not_implemented());
    call.count = 0;
    size_t total = 0;
    for (size_t i = 0; i < n; ++i) total += call.source_counts[i];
    call.bytes = 0;
    if (call.routine == Alltoallv) {
        uint64_t *mine = reinterpret_cast<uint64_t *>(header_at(heap().me, call.handle, call.team->collectives + 1) + 1);
        for (size_t i = 0; i < n; ++i) {
            mine[i] = call.source_counts[i];
            mine[n + i] = call.dest_counts[i];
            mine[2 * n + i] = call.source_places[i];
        }
    } else {
        call.bytes = total * call.item;
        call.extra = hash_of(lists[0], hash_of(lists[1], hash_of(lists[2], hash_of(lists[3], 14695981039346656037u))));
    }
    return raised_or(ended(enter(call), call));
}

// Enters a call whose arguments are invalid on this PE and publishes the reason, so that no member waits in vain. Raises when
// a PE is lost.
void refuse(unsigned routine, nb::handle team, const nb::bytes &why) {
    Call call{};
    if (!team_of(team.ptr(), call.handle)) return;
    call.routine = static_cast<Routine>(routine);
    call.team = &heap().teams[call.handle];
    call.algorithm = Refusal;
    call.sequence = ++call.team->collectives;
    char *text = call.slot(call.me());
    const size_t bytes = std::min(why.size(), config().payload() - 1);
    std::memcpy(text, why.c_str(), bytes);
    text[bytes] = '\0';
    publish(call, Signature{routine, 0, Refusal, -1, 0}.pack(), nullptr, 0, bytes + 1);
    raised_or(ended(await_all(call) == Satisfied ? Finished : PeerGone, call));
}

// Returns each member's published arguments of the last call, by name. `refusal` is the reason of a member that
// refused; `numbers` holds the counts and displacements of an alltoallv.
nb::list asked(unsigned handle) {
    nb::list all;
    Call call{};
    call.handle = handle;
    call.team = &heap().teams[handle];
    call.sequence = call.team->collectives;
    for (int j = 0; j < call.size(); ++j) {
        const Header *other = call.header(j);
        const Signature signed_by = Signature::unpack(other->signature);
        const bool refused = signed_by.algorithm == Refusal;
        nb::dict fields;
        fields["routine"] = signed_by.routine;
        fields["dtype"] = signed_by.type;
        fields["root"] = signed_by.root;
        fields["nelems"] = signed_by.count;
        fields["algorithm"] = signed_by.algorithm;
        fields["extra"] = other->extra;
        fields["dest"] = other->dest;
        fields["source"] = other->source;
        fields["refusal"] = nb::bytes(call.slot(j), refused ? strnlen(call.slot(j), config().payload()) : 0);
        fields["numbers"] = nb::bytes(call.slot(j), std::min<size_t>(config().payload(), 24 * static_cast<size_t>(call.size())));
        all.append(fields);
    }
    return all;
}

void configure_collectives(size_t offset, size_t ring_bytes, size_t slot_bytes, const std::vector<uint32_t> &types) {
    config().offset = offset;
    config().ring_bytes = ring_bytes;
    config().slot_bytes = slot_bytes;
    config().types = types;
    config().algorithms.resize(types.size());
}

// What the copy engine and kernels need to know of a call.
void bind_call(nb::module_ &m) {
    nb::class_<Call>(m, "CollectiveCall")
        .def_prop_ro("routine", [](const Call &call) { return static_cast<int>(call.routine); })
        .def_prop_ro("dtype", [](const Call &call) { return static_cast<int>(call.type); })
        .def_prop_ro("dest", [](const Call &call) { return reinterpret_cast<uintptr_t>(call.dest.view.address); })
        .def_prop_ro("me", &Call::me)
        .def_prop_ro("pes", [](const Call &call) {
            std::vector<int> pes;
            for (int member = 0; member < call.size(); ++member) pes.push_back(call.team->pe(member));
            return pes;
        })
        .def_ro("handle", &Call::handle)
        .def_ro("item", &Call::item)
        .def_ro("count", &Call::count)
        .def_ro("root", &Call::root)
        .def_ro("dst", &Call::dst)
        .def_ro("sst", &Call::sst)
        .def_ro("dest_counts", &Call::dest_counts)
        .def_ro("dest_places", &Call::dest_places)
        .def_ro("source_counts", &Call::source_counts)
        .def_ro("source_places", &Call::source_places);
}

}  // namespace

// The algorithms `engine` and `kernel`, which Python has.
bool direct::move_by_device(const Call &call) {
    try {
        nb::module_::import_("ishmem.host_collectives.device_algorithms").attr("move_by_device")(nb::cast(&call, nb::rv_policy::reference));
        return true;
    } catch (nb::python_error &error) {
        error.restore();
        return false;
    }
}

namespace {

PyObject *ended(Outcome outcome) {
    if (outcome != Satisfied) return incomplete_barrier(outcome);
    Py_RETURN_NONE;
}

}  // namespace

PyObject *barrier_all() {
    if (!quiet().done) return PyErr_Occurred() ? nullptr : not_implemented();
    const Outcome outcome = barrier(0, -1, BarrierAll);
    return ended(outcome == Satisfied && device_status() ? Failed : outcome);
}

PyObject *alltoalls(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *nelems, PyObject *team) {
    Call call;
    const bool good = begin(Alltoalls, dest, source, Py_None, team, call) && strides_of(dst, sst, nelems, call);
    return ended(good ? enter(call) : Declined, call);
}

PyObject *sync_all() { return heap().n_pes ? ended(barrier(0, -1, Sync)) : not_implemented(); }

void bind_collectives(nb::module_ &m) {
    bind_call(m);
    const auto any = nb::arg().none();
    m.def("configure_collectives", &configure_collectives, nb::kw_only(), nb::arg("offset"), nb::arg("ring_bytes"), nb::arg("slot_bytes"), nb::arg("types"));
    m.def("team_mirror_bytes", &team_mirror_bytes);
    m.def("set_algorithms", [](unsigned routine, const std::vector<std::pair<size_t, int>> &table) {
        config().algorithms.at(routine) = table;
    });
    m.def("collective", [](const nb::int_ &routine) { return nb::steal(PyCFunction_New(&of_collectives, routine.ptr())); });
    m.def("collective_with_counts", &with_counts, nb::arg(), any, any, any, any, nb::arg());
    m.def("refuse_collective", &refuse, nb::arg(), any, nb::arg());
    m.def("asked_collective", &asked);
    m.def("static_at", [](uint64_t location, int pe) { return reinterpret_cast<uintptr_t>(address_of(location, pe)); });
}

}  // namespace ishmem
