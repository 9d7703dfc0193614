// The host collectives: argument checks, rendezvous of the members, choice of the algorithm.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "exchange.hpp"
#include "fastcall.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

constexpr size_t LINE = 64;
constexpr size_t LONG = 64 << 10;  // from this many bytes on the GIL is released during data movement

struct Config {
    size_t offset = 0, ring_bytes = 0, slot_bytes = 0;  // a ring: one line of flags, two slots
    std::vector<uint32_t> types;                        // per routine: bit t is set when it accepts Type t
    std::vector<std::vector<std::pair<size_t, int>>> algorithms;  // per routine: (from this many bytes on, algorithm)
    size_t payload() const { return slot_bytes - sizeof(Header); }
};

Config &config() {
    static Config &only = *new Config;
    return only;
}

size_t meeting_bytes(size_t n_pes, size_t slot_bytes) { return TABLE + n_pes * slot_bytes; }

// In teams that span nodes, the PEs of each node share mirrors of the rings of all PEs, for the slots of other nodes, and
// two meetings. Returns the size for one team.
size_t team_mirror_bytes(size_t n_pes, size_t ring_bytes, size_t slot_bytes) {
    return n_pes * ring_bytes + 2 * meeting_bytes(n_pes, slot_bytes);
}

size_t mirrors_of(unsigned handle) {
    return handle * team_mirror_bytes(static_cast<size_t>(heap().n_pes), config().ring_bytes, config().slot_bytes);
}

// Offset of the mirror of a ring.
size_t mirror_of(int pe, unsigned handle) { return mirrors_of(handle) + static_cast<size_t>(pe) * config().ring_bytes; }

char *ring(int pe, unsigned handle) {
    char *at = heap().mapped[static_cast<size_t>(pe)];
    return is_far(at) ? heap().regions.mirrors + mirror_of(pe, handle) : at + config().offset + handle * config().ring_bytes;
}

Header *header_at(int pe, unsigned handle, uint64_t sequence) {
    return reinterpret_cast<Header *>(ring(pe, handle) + LINE + sequence % 2 * config().slot_bytes);
}

// Returns whether this call cannot complete: a PE died, or a member left before it entered the call.
bool hopeless(const Call &call) {
    Heap &h = heap();
    if (h.status.has_lost()) return true;
    if (!h.status.any_left.load()) return false;
    for (int j = 0; j < call.size(); ++j) {
        const int pe = call.team->pe(j);
        if (!h.status.left[static_cast<size_t>(pe)].load()) continue;
        // Another PE forwards the slots of a PE on another node, so they may arrive after it has left.
        const bool far = is_far(h.mapped[static_cast<size_t>(pe)]);
        const uint64_t begun = far ? collectives_begun(pe, call.handle) : __atomic_load_n(&call.header(j)->sequence, __ATOMIC_ACQUIRE);
        if (begun < call.sequence) return true;
    }
    return false;
}

template <class Done>
Outcome wait(const Call &call, Done done, unsigned rounds_per_drive = FROM_NODE) {
    return poll(done, [&] { return hopeless(call); }, -1.0, rounds_per_drive);
}

// Model: tests/models/host_ring.pml.
Outcome await_all(Call &call) {
    if (call.team->spans) return meet(call);
    int next = 0;
    return wait(call, [&, next]() mutable {
        while (next < call.size() && __atomic_load_n(&call.header(next)->sequence, __ATOMIC_ACQUIRE) == call.sequence) ++next;
        return next == call.size();
    });
}

// Returns whether a call has ended for a node when it has ended for the members of the node: what other nodes put into
// their arrays has arrived, and nobody gets from them.
bool ends_by_node(const Call &call) {
    const bool by_puts = call.routine == Broadcast || call.routine == Alltoall || combines(call.routine);
    return call.team->spans && in_levels(call.algorithm) && by_puts;
}

// In other calls that span nodes each member has completed its accesses, and the barrier takes one message per node and
// round.
// Model: tests/models/host_ring.pml.
Outcome leave(const Call &call) {
    const Team &team = *call.team;
    const bool node_only = ends_by_node(call);
    if (team.spans && !node_only) return barrier(call.handle, -1);
    raise(call, Left);
    for (int i = 0; i < (node_only ? static_cast<int>(team.near.size()) : call.size()); ++i) {
        const int member = node_only ? team.groups[static_cast<size_t>(team.node)][static_cast<size_t>(i)] : i;
        const Outcome outcome = await(call, Left, member);
        if (outcome != Satisfied) return outcome;
    }
    return Satisfied;
}

// The verdict on a wait that was not satisfied. An interrupted wait has set Python's exception, which takes precedence.
Verdict lost(Outcome) { return PeerGone; }

int verdict_of(Verdict verdict) {
    if (PyErr_Occurred()) throw nb::python_error();
    return verdict;
}

// Returns whether a call has algorithms of few rounds between the nodes: see between_nodes.cpp.
bool has_rounds(const Call &call) {
    if (!call.team->spans) return false;
    if (call.routine == Alltoall) return fits_alltoall(call);
    return call.routine == Broadcast || is_reduction(call.routine);
}

bool has_levels(const Call &call) {
    if (!call.team->spans) return false;
    return is_scan(call.routine) ? call.team->in_runs : traits(call.routine).gives_all_the_same;
}

// Returns whether the slots may carry the data of a call. Those of an alltoall all go to all nodes.
bool fits_slot(const Call &call) {
    if (!traits(call.routine).is_plain || published(call) > config().payload()) return false;
    return call.routine != Alltoall || !call.team->spans || published(call) * static_cast<size_t>(call.size()) <= LONG;
}

Algorithm choose(const Call &call) {
    int chosen = Mapped;
    for (const auto &[from, algorithm] : config().algorithms[call.routine])
        if (call.bytes >= from) chosen = algorithm;
    if (chosen == InSlot && !fits_slot(call)) chosen = Rounds;
    const bool of_one_node = chosen == Tree || chosen == ByEngine || chosen == ByKernel;
    if (call.team->spans && of_one_node) chosen = chosen == Tree ? Rounds : Levels;
    if (chosen == Rounds && !has_rounds(call)) chosen = Levels;
    if (chosen == Levels && !has_levels(call)) chosen = Mapped;
    return static_cast<Algorithm>(chosen);
}

// The fields of Header::signature.
struct Signature {
    unsigned routine, type, algorithm;
    int root;
    uint64_t count;

    uint64_t pack() const {
        return routine | uint64_t(type) << 5 | uint64_t(algorithm) << 10 | static_cast<uint64_t>(root + 1) << 13 | count << 30;
    }

    static Signature unpack(uint64_t packed) {
        return {static_cast<unsigned>(packed & 31), static_cast<unsigned>(packed >> 5 & 31),
                static_cast<unsigned>(packed >> 10 & 7), static_cast<int>(packed >> 13 & 0x1ffff) - 1, packed >> 30};
    }
};

// Members of a collect may contribute different element counts; they choose the algorithm after they know all counts.
uint64_t signature(const Call &call) {
    const bool collects = call.routine == Collect;
    return Signature{call.routine, static_cast<unsigned>(call.type), collects ? 0u : call.algorithm, call.root,
                     collects ? 0 : call.count}.pack();
}

// Publishes this PE's slot: the arguments, the data of a small message, and last the sequence number. `before` is the
// number of payload bytes that the caller has already written.
// Model: tests/models/host_ring.pml.
void publish(Call &call, uint64_t asked, const char *data, size_t bytes, size_t before = 0) {
    Header *mine = header_at(heap().me, call.handle, call.sequence);
    mine->signature = asked;
    mine->extra = call.extra;
    mine->dest = call.dest.place;
    mine->source = call.source.place;
    if (bytes) std::memcpy(call.data(call.me()), data, bytes);
    const bool in_slot = bytes > sizeof mine->words && carried(call) == Carried::Slots;
    if (call.team->spans) *call.payload_bytes(call.me()) = in_slot ? bytes : before;
    __atomic_store_n(&mine->sequence, call.sequence, __ATOMIC_RELEASE);
}

bool publishes_data(const Call &call) {
    const Root root = traits(call.routine).root;
    return root == Root::None || (call.me() == call.root) == (root == Root::Sends);
}

bool same_asked(const Call &call) {
    if (call.team->spans) return !(call.differences & DifferentCalls);
    const bool own_extra = traits(call.routine).own_counts;
    const Header *mine = call.header(call.me());
    for (int j = 0; j < call.size(); ++j) {
        const Header *other = call.header(j);
        if (other->signature != mine->signature || (other->extra != mine->extra && !own_extra)) return false;
    }
    return true;
}

// alltoallv: returns whether send counts match receive counts. A payload holds a member's send counts, receive counts
// and send displacements.
bool counts_match(const Call &call) {
    const size_t n = static_cast<size_t>(call.size());
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            const auto *from = reinterpret_cast<const uint64_t *>(call.slot(static_cast<int>(i)));
            const auto *to = reinterpret_cast<const uint64_t *>(call.slot(static_cast<int>(j)));
            if (from[j] != to[n + i]) return false;
        }
    return true;
}

// collect: computes each contribution's offset in dest; returns whether the total fits into every member's dest.
bool places_of(Call &call) {
    size_t total = 0, largest = 0;
    call.dest_places.clear();
    for (int j = 0; j < call.size(); ++j) {
        call.dest_places.push_back(total);
        total += call.header(j)->extra;
        largest = std::max<size_t>(largest, call.header(j)->extra);
    }
    call.bytes = largest * call.item;
    call.algorithm = choose(call);
    for (int j = 0; j < call.size(); ++j) {
        uint64_t room;
        std::memcpy(&room, call.header(j)->words, sizeof room);
        if (total > room) return false;
    }
    return true;
}

Verdict move(const Call &call) {
    if (call.algorithm == ByEngine || call.algorithm == ByKernel) return Entered;
    const bool reduces = combines(call.routine);
    Outcome outcome = Satisfied;
    const auto act = [&] {
        if (call.algorithm != InSlot && call.team->spans) {
            const auto by_levels = is_scan(call.routine) ? &scan_levels : &reduce_between_nodes;
            const auto span = !reduces ? &move_spanning : in_levels(call.algorithm) ? by_levels : &reduce_spanning;
            if (!span(call)) outcome = Lost;
        } else if (call.algorithm == InSlot) reduces ? reduce_in_slot(call) : move_in_slot(call);
        else if (call.algorithm == Tree) outcome = reduces ? reduce_tree(call) : broadcast_tree(call);
        else reduces ? reduce_mapped(call) : move_mapped(call);
    };
    if ((call.bytes < LONG && call.routine != Alltoallv) || call.algorithm == Tree) {
        act();
    } else {
        Py_BEGIN_ALLOW_THREADS
        act();
        Py_END_ALLOW_THREADS
    }
    if (outcome == Satisfied && call.algorithm != InSlot) outcome = leave(call);
    return outcome == Satisfied ? Finished : lost(outcome);
}

Verdict enter(Call &call) {
    call.sequence = ++call.team->collectives;
    if (call.routine == Collect) {
        call.extra = call.count;
        char *words = header_at(heap().me, call.handle, call.sequence)->words;
        const uint64_t room = call.dest.view.count;
        std::memcpy(words, &room, sizeof room);
        char *mine = call.slot(call.me());
        if (call.bytes <= config().payload() && call.bytes) std::memcpy(mine, call.source_of(call.me()), call.bytes);
        publish(call, signature(call), nullptr, 0, call.bytes <= config().payload() ? call.bytes : 0);
    } else {
        call.algorithm = choose(call);
        const bool data = call.algorithm == InSlot && publishes_data(call);
        const size_t numbers = call.routine == Alltoallv ? 3 * sizeof(uint64_t) * static_cast<size_t>(call.size()) : 0;
        publish(call, signature(call), data ? call.source_of(call.me()) : nullptr, data ? published(call) : 0, numbers);
    }
    const Outcome outcome = await_all(call);
    if (outcome != Satisfied) return lost(outcome);
    if (!same_asked(call) || (call.routine == Alltoallv && !counts_match(call))) return Dissent;
    if (call.routine == Collect && !places_of(call)) return TooShort;
    return move(call);
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

bool place_of(const View &view, uint64_t &place) {
    if (view.device) {
        const ptrdiff_t offset = heap().offset_of(view.address, view.bytes());
        place = static_cast<uint64_t>(offset);
        return offset >= 0;
    }
    const auto found = heap().static_place(view.address, view.bytes());
    place = static_cast<uint64_t>(found.first) << 48 | found.second;
    return found.first != 0;
}

bool arrays_of(PyObject *dest, PyObject *source, Call &call) {
    View &to = call.dest.view, &from = call.source.view;
    if (!view_of(dest, to) || !view_of(source, from)) return false;
    if (to.type != from.type || to.type == Other || !(config().types[call.routine] >> to.type & 1)) return false;
    if (!(to.order & from.order) || !to.writable) return false;
    call.type = to.type;
    call.item = to.item;
    return place_of(to, call.dest.place) && place_of(from, call.source.place);
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

bool begin(unsigned routine, PyObject *dest, PyObject *source, PyObject *root, PyObject *team, Call &call) {
    if (routine >= config().types.size() || !team_of(team, call.handle)) return false;
    call.routine = static_cast<Routine>(routine);
    call.team = &heap().teams[call.handle];
    call.extra = 0;
    return root_of(root, call) && arrays_of(dest, source, call);
}

PyObject *collective(unsigned routine, PyObject *dest, PyObject *source, PyObject *root, PyObject *nelems, PyObject *team) {
    Call call;
    Verdict verdict = NotPlain;
    if (begin(routine, dest, source, root, team, call) && count_of(nelems, call)) {
        call.bytes = call.count * call.item;
        if (apart(call)) verdict = enter(call);
    }
    return PyErr_Occurred() ? nullptr : PyLong_FromLong(verdict);
}

PyMethodDef hot[] = {method<&collective>("collective"), {}};

// The forms with strides or counts; Python has checked their arguments.
int alltoalls(nb::handle dest, nb::handle source, size_t dst, size_t sst, size_t nelems, nb::handle team) {
    if (!settle_submitted()) throw nb::python_error();
    Call call;
    if (!begin(Alltoalls, dest.ptr(), source.ptr(), Py_None, team.ptr(), call)) return NotPlain;
    call.count = nelems;
    call.bytes = nelems * call.item;
    call.dst = static_cast<Py_ssize_t>(dst);
    call.sst = static_cast<Py_ssize_t>(sst);
    call.extra = dst << 32 | sst;
    return verdict_of(enter(call));
}

uint64_t hash_of(const std::vector<size_t> &numbers, uint64_t hash) {
    for (size_t number : numbers) hash = (hash ^ number) * 1099511628211u;
    return hash;
}

int with_counts(unsigned routine, nb::handle dest, nb::handle source, nb::handle root, nb::handle team, const std::vector<std::vector<size_t>> &lists) {
    if (!settle_submitted()) throw nb::python_error();
    Call call;
    if (lists.size() != 4 || !begin(routine, dest.ptr(), source.ptr(), root.ptr(), team.ptr(), call)) return NotPlain;
    call.dest_counts = lists[0];
    call.dest_places = lists[1];
    call.source_counts = lists[2];
    call.source_places = lists[3];
    const size_t n = static_cast<size_t>(call.size());
    if (call.routine == Alltoallv && 3 * n * sizeof(uint64_t) > config().payload()) return NotPlain;
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
    return verdict_of(enter(call));
}

// Enters a call whose arguments are invalid on this PE and publishes the reason, so that no member waits in vain.
int refuse(unsigned routine, nb::handle team, const nb::bytes &why) {
    Call call{};
    if (!team_of(team.ptr(), call.handle)) return NotPlain;
    call.team = &heap().teams[call.handle];
    call.algorithm = Refusal;
    call.sequence = ++call.team->collectives;
    char *text = call.slot(call.me());
    const size_t bytes = std::min(why.size(), config().payload() - 1);
    std::memcpy(text, why.c_str(), bytes);
    text[bytes] = '\0';
    publish(call, Signature{routine, 0, Refusal, -1, 0}.pack(), nullptr, 0, bytes + 1);
    const Outcome outcome = await_all(call);
    return verdict_of(outcome == Satisfied ? Dissent : lost(outcome));
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

int finish(unsigned handle) {
    Call call{};
    call.handle = handle;
    call.team = &heap().teams[handle];
    call.sequence = call.team->collectives;
    const Outcome outcome = leave(call);
    return verdict_of(outcome == Satisfied ? Finished : lost(outcome));
}

void configure_collectives(size_t offset, size_t ring_bytes, size_t slot_bytes, const std::vector<uint32_t> &types) {
    config().offset = offset;
    config().ring_bytes = ring_bytes;
    config().slot_bytes = slot_bytes;
    config().types = types;
    config().algorithms.resize(types.size());
}

}  // namespace

bool rehearse_collective(Routine routine, size_t bytes, int root, uint64_t dest, uint64_t source, bool first) {
    Call call{};
    call.team = &heap().teams[0];
    call.routine = routine;
    call.type = I64;
    call.item = sizeof(int64_t);
    call.bytes = bytes;
    call.count = bytes / call.item;
    call.root = has_root(routine) ? root : -1;
    call.dest.place = dest;
    call.source.place = source;
    call.dest.view.count = SIZE_MAX;
    call.algorithm = choose(call);
    const uint64_t asked = signature(call), extra = routine == Collect ? call.count : 0, room = SIZE_MAX;
    const bool all = first && carried(call) == Carried::Slots;
    for (int j = 0; j < call.size(); ++j) {  // as the other members have published it
        if (!all && is_far(heap().mapped[static_cast<size_t>(call.team->pe(j))])) continue;
        Header *header = header_at(call.team->pe(j), call.handle, call.team->collectives + 1);
        *header = Header{call.team->collectives + 1, asked, extra, dest, source, {}};
        std::memcpy(header->words, &room, sizeof room);
        uint64_t *flags = reinterpret_cast<uint64_t *>(ring(call.team->pe(j), call.handle));
        std::memset(flags, 0xff, LINE);
        flags[PayloadBytes] = flags[PayloadBytes + 1] = 0;
    }
    return enter(call) == Finished;
}

const Header *Call::header(int member) const { return header_at(team->pe(member), handle, sequence); }
char *Call::slot(int member) const { return reinterpret_cast<char *>(header_at(team->pe(member), handle, sequence) + 1); }
uint64_t *Call::flags(int member) const { return reinterpret_cast<uint64_t *>(ring(team->pe(member), handle)); }
uint64_t *Call::payload_bytes(int member) const { return flags(member) + PayloadBytes + sequence % 2; }

uint64_t Call::mirror_of(int member, const void *part) const {
    const int pe = team->pe(member);
    return MIRRORS_AT + ishmem::mirror_of(pe, handle) + static_cast<size_t>(static_cast<const char *>(part) - ring(pe, handle));
}

char *Call::meeting(size_t offset) const { return heap().regions.mirrors + (meeting_place(offset) - MIRRORS_AT); }

uint64_t Call::meeting_place(size_t offset) const {
    const size_t n_pes = static_cast<size_t>(heap().n_pes);
    return MIRRORS_AT + mirrors_of(handle) + n_pes * config().ring_bytes + sequence % 2 * meeting_bytes(n_pes, config().slot_bytes) + offset;
}

size_t published(const Call &call) {
    return traits(call.routine).source_blocks ? call.bytes * static_cast<size_t>(call.size()) : call.bytes;
}

Carried carried(const Call &call) {
    if (traits(call.routine).own_counts) return Carried::Slots;
    if (call.algorithm != InSlot) return Carried::Nothing;
    if (traits(call.routine).root == Root::Sends) return Carried::FromRoot;
    if (is_reduction(call.routine)) return Carried::Sum;
    return call.team->in_runs ? Carried::FromAll : Carried::Slots;
}

char *Call::data(int member) const {
    const Carried what = team->spans ? carried(*this) : Carried::Slots;
    if (what == Carried::FromRoot) return meeting(TABLE);
    if (what == Carried::FromAll) return meeting(TABLE) + static_cast<size_t>(member) * published(*this);
    return published(*this) <= sizeof(Header::words) ? header_at(team->pe(member), handle, sequence)->words : slot(member);
}

char *address_of(uint64_t place, int pe) {
    const size_t number = place >> 48, offset = place & ((uint64_t(1) << 48) - 1);
    Heap &h = heap();
    return (number ? h.static_objects[number - 1]->mapped[static_cast<size_t>(pe)] : h.mapped[static_cast<size_t>(pe)]) + offset;
}

// Where the slots of other nodes are not here, all arrays are in the places of this PE's.
bool Call::is_like_mine(int member) const {
    return team->spans && !has_slots && is_far(heap().mapped[static_cast<size_t>(team->pe(member))]);
}

char *Call::dest_of(int member) const { return address_of(is_like_mine(member) ? dest.place : header(member)->dest, team->pe(member)); }

const char *Call::source_of(int member) const {
    return address_of(member == me() || is_like_mine(member) ? source.place : header(member)->source, team->pe(member));
}

// Model: tests/models/host_ring.pml.
void raise(const Call &call, Flag flag) {
    __atomic_store_n(call.flags(call.me()) + flag, call.sequence, __ATOMIC_RELEASE);
}

// Model: tests/models/host_ring.pml.
Outcome await(const Call &call, Flag flag, int member) {
    const uint64_t *at = call.flags(member) + flag;
    return wait(call, [=] { return __atomic_load_n(at, __ATOMIC_ACQUIRE) >= call.sequence; });
}

Outcome await_line(const Call &call, const uint64_t *line) {
    return wait(call, [=] { return __atomic_load_n(line, __ATOMIC_ACQUIRE) >= call.sequence; }, call.team->index ? FROM_NODE : FROM_NETWORK);
}

Outcome await_slots(const Call &call, const std::vector<int> &members, unsigned rounds_per_drive) {
    for (int member : members) {
        const uint64_t *at = &call.header(member)->sequence;
        const Outcome outcome = wait(call, [=] { return __atomic_load_n(at, __ATOMIC_ACQUIRE) == call.sequence; }, rounds_per_drive);
        if (outcome != Satisfied) return outcome;
    }
    return Satisfied;
}

void bind_collectives(nb::module_ &m) {
    const auto any = nb::arg().none();
    m.def("configure_collectives", &configure_collectives, nb::kw_only(), nb::arg("offset"), nb::arg("ring_bytes"), nb::arg("slot_bytes"), nb::arg("types"));
    m.def("team_mirror_bytes", &team_mirror_bytes);
    m.def("set_algorithms", [](unsigned routine, const std::vector<std::pair<size_t, int>> &table) {
        config().algorithms.at(routine) = table;
    });
    if (PyModule_AddFunctions(m.ptr(), hot) != 0) throw nb::python_error();
    m.def("alltoalls", &alltoalls, any, any, nb::arg(), nb::arg(), nb::arg(), any);
    m.def("collective_with_counts", &with_counts, nb::arg(), any, any, any, any, nb::arg());
    m.def("refuse_collective", &refuse, nb::arg(), any, nb::arg());
    m.def("asked_collective", &asked);
    m.def("leave_collective", &finish);
    m.attr("FINISHED") = static_cast<int>(Finished);
    m.attr("NOT_PLAIN") = static_cast<int>(NotPlain);
    m.attr("ENTERED") = static_cast<int>(Entered);
    m.attr("DISSENT") = static_cast<int>(Dissent);
    m.attr("TOO_SHORT") = static_cast<int>(TooShort);
    m.attr("PEER_GONE") = static_cast<int>(PeerGone);
    m.def("static_at", [](uint64_t place, int pe) { return reinterpret_cast<uintptr_t>(address_of(place, pe)); });
}

}  // namespace ishmem
