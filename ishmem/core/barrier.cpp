// The barrier of a team.
#include <cstring>

#include "exchange.hpp"
#include "polling.hpp"
#include "remote.hpp"

namespace ishmem::TRANSPORT {
namespace {

uint64_t *line(int pe, unsigned team, unsigned round) {
    const Heap &h = heap();
    return reinterpret_cast<uint64_t *>(h.mapped[pe] + h.parts.sync + team * h.parts.sync_bytes + 64 * round);
}

// Returns whether this barrier cannot complete: a PE is lost, or a member left before it entered the barrier.
bool hopeless(const Team &team, unsigned handle) {
    Heap &h = heap();
    if (h.has_lost(team)) return true;
    if (!h.status.any_left.load()) return false;
    for (int i = 0; i < team.size; ++i)
        if (h.status.left[team.pe(i)].load() && __atomic_load_n(barriers_begun(team.pe(i), handle), __ATOMIC_ACQUIRE) < team.sequence)
            return true;
    return false;
}

}  // namespace

namespace {

unsigned other_kind = PartOfCall;

// A barrier in progress. A line holds its number, with the kinds of it and of the one before, and two summaries, which
// alternate: a PE that begins barrier s + 2 has completed s + 1, so all members have entered s + 1 and no longer read
// summaries of s.
struct Barrier {
    Team &team;
    unsigned handle;
    double timeout;
    Summary *summary;  // null: none is exchanged
    bool &mixed;       // whether a member has told another kind
    uint64_t number = team.sequence << KINDS_BITS;
    uint64_t word = number | team.kinds;  // what this PE tells

    char *summary_in(uint64_t *line) const {
        return reinterpret_cast<char *>(line + 1) + team.sequence % 2 * sizeof(Summary);
    }

    // Notifies a member that this PE has reached the round.
    Outcome tell(int pe, unsigned round) const {
        uint64_t *at = line(pe, handle, round);
        if ((!summary || write_before_flag(summary_in(at), summary, sizeof *summary)) && store_flag(at, word)) return Satisfied;
        return PyErr_Occurred() ? Interrupted : Lost;
    }

    Outcome await_told(unsigned round, unsigned rounds_per_drive) const {
        uint64_t *mine = line(heap().me, handle, round);
        uint64_t told = 0;  // kept, because the member's next store takes the line away
        const auto done = [&told, mine, wanted = number] { return (told = __atomic_load_n(mine, __ATOMIC_ACQUIRE)) >= wanted; };
        const Outcome outcome = poll(done, [&] { return hopeless(team, handle); }, timeout, rounds_per_drive);
        if (MOVES_DATA && outcome == Satisfied && told != word) note_kind(told);
        if (outcome == Satisfied && summary) {
            Summary other;
            std::memcpy(&other, summary_in(mine), sizeof other);
            summary->add(other);
        }
        return outcome;
    }

    // Compares the kind that a member has told; it may be in the next barrier already.
    void note_kind(uint64_t told) const {
        const uint64_t sequence = told >> KINDS_BITS;
        const bool is_ahead = sequence == team.sequence + 1;
        const unsigned theirs = (is_ahead ? told >> KIND_BITS : told) & KIND_MASK;
        if (theirs == (team.kinds & KIND_MASK)) return;
        mixed = true;
        other_kind = theirs;
    }
};
static_assert(sizeof(uint64_t) + 2 * sizeof(Summary) <= 64);

// Dissemination barrier of `size` members: in round k, member i notifies member i + 2^k and waits for member i - 2^k.
// The lines hold sequence numbers that only grow, so they are never reset and a fast PE cannot race with a reset.
// Model: tests/models/barrier.pml.
template <class PeOf>
Outcome disseminate(const Barrier &barrier, int me, int size, PeOf pe_of, unsigned &round, unsigned rounds_per_drive = FROM_NODE) {
    Outcome outcome = Satisfied;
    for (int distance = 1; distance < size && outcome == Satisfied; distance *= 2, ++round) {
        outcome = barrier.tell(pe_of((me + distance) % size), round);
        if (outcome == Satisfied) outcome = barrier.await_told(round, rounds_per_drive);
    }
    return outcome;
}

// Hierarchical barrier: first the members of each node, then the nodes' leaders, which then release their nodes'
// members.
Outcome barrier_of_nodes(const Barrier &barrier) {
    constexpr unsigned RELEASE = 0;  // a line that no round uses
    const Team &team = barrier.team;
    const std::vector<int> &near = team.near, &leaders = team.leaders;
    unsigned round = 1;
    Outcome outcome = disseminate(barrier, team.index, static_cast<int>(near.size()), [&](int i) { return near[static_cast<size_t>(i)]; }, round);
    if (outcome != Satisfied) return outcome;
    const int of_node = static_cast<int>(team.rounds), of_leaders = rounds_of(static_cast<int>(leaders.size()));
    end_stage(of_node);
    if (team.index) {
        end_stage(of_leaders);
        return barrier.await_told(RELEASE, FROM_NODE);
    }
    round = 1 + team.rounds;  // the same on all nodes
    outcome = disseminate(barrier, team.node, static_cast<int>(leaders.size()), [&](int i) { return leaders[static_cast<size_t>(i)]; }, round, FROM_NETWORK);
    end_stage(of_leaders);
    for (size_t i = 1; i < near.size() && outcome == Satisfied; ++i) outcome = barrier.tell(near[i], RELEASE);
    return outcome;
}

Outcome run(unsigned handle, double timeout, unsigned kind, Summary *summary) {
    if (handle >= MAX_TEAMS || !heap().n_pes) return BadArguments;
    bool mixed = false;
    Team &team = heap().teams[handle];
    ++team.sequence;
    team.kinds = (team.kinds << KIND_BITS | kind) & ((1u << KINDS_BITS) - 1);
    const Barrier barrier = {team, handle, timeout, summary, mixed};
    unsigned round = 0;
    const Outcome outcome = team.spans ? barrier_of_nodes(barrier)
                                       : disseminate(barrier, team.me, team.size, [&](int i) { return team.pe(i); }, round);
    return outcome == Satisfied && mixed ? Mixed : outcome;
}

}  // namespace

Outcome barrier(unsigned handle, double timeout, unsigned kind) { return run(handle, timeout, kind, nullptr); }

unsigned mixed_with() { return other_kind; }

Outcome agree(unsigned handle, double timeout, Summary &summary) { return run(handle, timeout, PartOfCall, &summary); }

}  // namespace ishmem::TRANSPORT
