// The host collectives: rendezvous of the members, choice of the algorithm.
#include <algorithm>
#include <cstring>

#include "exchange.hpp"

namespace ishmem::TRANSPORT {
namespace {

constexpr size_t LONG = 64 << 10;  // from this many bytes on the GIL is released during data movement

size_t mirrors_of(unsigned handle) {
    return handle * team_mirror_bytes(static_cast<size_t>(heap().n_pes), config().ring_bytes, config().slot_bytes);
}

// Offset of the mirror of a ring.
size_t mirror_of(int pe, unsigned handle) { return mirrors_of(handle) + static_cast<size_t>(pe) * config().ring_bytes; }

}  // namespace

char *ring(int pe, unsigned handle) {
    char *at = heap().mapped[static_cast<size_t>(pe)];
    return is_far(at) ? heap().regions.mirrors + mirror_of(pe, handle) : at + config().offset + handle * config().ring_bytes;
}

Header *header_at(int pe, unsigned handle, uint64_t sequence) {
    return reinterpret_cast<Header *>(ring(pe, handle) + LINE + sequence % 2 * config().slot_bytes);
}

namespace {

// Returns whether this call cannot complete: a PE died, or a member left before it entered the call.
bool hopeless(const Call &call) {
    Heap &h = heap();
    if (h.has_lost(*call.team)) return true;
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

}  // namespace

// Model: tests/models/host_ring.pml.
Outcome await_all(Call &call) {
    if (call.team->spans) return meet(call);
    int next = 0;
    return wait(call, [&, next]() mutable {
        while (next < call.size() && __atomic_load_n(&call.header(next)->sequence, __ATOMIC_ACQUIRE) == call.sequence) ++next;
        return next == call.size();
    });
}

namespace {

// Returns whether a call has ended for a node when it has ended for the members of the node: what other nodes put into
// their arrays has arrived, and nobody gets from them.
bool ends_by_node(const Call &call) {
    const bool by_puts = call.routine == Broadcast || call.routine == Alltoall || combines(call.routine);
    return call.team->spans && in_levels(call.algorithm) && by_puts;
}

}  // namespace

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

namespace {

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

}  // namespace

Algorithm choose(const Call &call) {
    int chosen = Mapped;
    for (const auto &[from, algorithm] : config().algorithms[call.routine])
        if (call.bytes >= from) chosen = algorithm;
    if (chosen == InSlot && !fits_slot(call)) chosen = Rounds;
    const bool of_one_node = chosen == Tree || chosen == ByEngine || chosen == ByKernel;
    if (call.team->spans && of_one_node) chosen = chosen == Tree ? Rounds : Levels;
    if (chosen == Rounds && !has_rounds(call)) chosen = Levels;
    if (chosen == Levels && !has_levels(call)) chosen = Mapped;
    const bool in_steps = chosen == Tree || chosen == Levels || chosen == Rounds;
    if (in_steps && combines(call.routine) && is_half(call.type)) chosen = Mapped;
    return static_cast<Algorithm>(chosen);
}

// Members of a collect may contribute different element counts; they choose the algorithm after they know all counts.
uint64_t signature(const Call &call) {
    const bool collects = call.routine == Collect;
    return Signature{call.routine, static_cast<unsigned>(call.type), collects ? 0u : static_cast<unsigned>(call.algorithm), call.root,
                     collects ? 0 : call.count}.pack();
}

// Publishes this PE's slot: the arguments, the data of a small message, and last the sequence number. `before` is the
// number of payload bytes that the caller has already written.
// Model: tests/models/host_ring.pml.
void publish(Call &call, uint64_t asked, const char *data, size_t bytes, size_t before) {
    Header *mine = header_at(heap().me, call.handle, call.sequence);
    mine->signature = asked;
    mine->extra = call.extra;
    mine->dest = call.dest.location;
    mine->source = call.source.location;
    if (bytes) std::memcpy(call.data(call.me()), data, bytes);
    const bool in_slot = bytes > sizeof mine->words && carried(call) == Carried::Slots;
    if (call.team->spans) *call.payload_bytes(call.me()) = in_slot ? bytes : before;
    __atomic_store_n(&mine->sequence, call.sequence, __ATOMIC_RELEASE);
}

namespace {

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
bool locations_of(Call &call) {
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

// Moves the data between the members by the algorithm of the call, on the host.
Outcome move_by_host(const Call &call) {
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
    return outcome;
}

Verdict move(const Call &call) {
    const bool by_device = call.algorithm == ByEngine || call.algorithm == ByKernel;
    Outcome outcome = by_device ? (move_by_device(call) ? Satisfied : Interrupted) : move_by_host(call);
    if (outcome == Satisfied && call.algorithm != InSlot) outcome = leave(call);
    return outcome == Satisfied ? Finished : PeerGone;
}

}  // namespace

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
    if (outcome != Satisfied) return PeerGone;
    if (!same_asked(call) || (call.routine == Alltoallv && !counts_match(call))) return Dissent;
    if (call.routine == Collect && !locations_of(call)) return TooShort;
    return move(call);
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
    if (is_reduction(call.routine) && !is_half(call.type)) return Carried::Sum;
    return call.team->in_runs ? Carried::FromAll : Carried::Slots;
}

char *Call::data(int member) const {
    const Carried what = team->spans ? carried(*this) : Carried::Slots;
    if (what == Carried::FromRoot) return meeting(TABLE);
    if (what == Carried::FromAll) return meeting(TABLE) + static_cast<size_t>(member) * published(*this);
    return published(*this) <= sizeof(Header::words) ? header_at(team->pe(member), handle, sequence)->words : slot(member);
}

char *address_of(uint64_t location, int pe) {
    const size_t number = location >> 48, offset = location & ((uint64_t(1) << 48) - 1);
    Heap &h = heap();
    return (number ? h.static_objects[number - 1]->mapped[static_cast<size_t>(pe)] : h.mapped[static_cast<size_t>(pe)]) + offset;
}

// Where the slots of other nodes are not here, all arrays are at the offsets of this PE's.
bool Call::is_like_mine(int member) const {
    return team->spans && !has_slots && is_far(heap().mapped[static_cast<size_t>(team->pe(member))]);
}

char *Call::dest_of(int member) const { return address_of(is_like_mine(member) ? dest.location : header(member)->dest, team->pe(member)); }

const char *Call::source_of(int member) const {
    return address_of(member == me() || is_like_mine(member) ? source.location : header(member)->source, team->pe(member));
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
    if constexpr (!MOVES_DATA) return await_word(*call.team, line, call.sequence, 1);
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

}  // namespace ishmem::TRANSPORT
