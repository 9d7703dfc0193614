// What the PEs of different nodes send each other in a collective call: data, each followed by a flag.
//
// The bytes of a block are divided into *parts*, the same on all nodes. A part has an *owner* on each node, and only the
// owners of a part communicate about it. What an owner receives for a part, other than by puts into the arrays of the
// call, arrives in its *landing* of the team and part, with flags in which the numbers only grow. A call of a team writes
// into a landing after its rendezvous, when the owner has returned from the call before.
#pragma once
#include <algorithm>

#include "reductions.hpp"

namespace ishmem::TRANSPORT {

// The sizes that all PEs of a job agree on: nodes, and PEs of the largest node.
struct JobShape {
    size_t nodes = 0, width = 0;

    JobShape();
    size_t flags() const;
    size_t landing() const;
};

constexpr size_t PART = 1 << 20;      // most bytes of a part in a round
constexpr uint64_t ROUNDS = 1 << 20;  // more than the rounds of a call: 2 TiB
constexpr int MAX_STEPS = 80;         // steps between nodes of an algorithm that takes a logarithm of their number

// Where an owner receives for one of its parts: flags, buffers of the algorithm, the results of the part.
struct Landing {
    static constexpr size_t BUFFERS = 8 << 20;

    const JobShape &job;
    uint64_t at;  // offset in the region of landings

    uint64_t step_flag(int step) const { return at + static_cast<uint64_t>(step) * sizeof(uint64_t); }
    uint64_t node_flag(int node) const { return step_flag(MAX_STEPS + node); }
    uint64_t buffers() const { return at + job.flags(); }
    uint64_t results() const { return buffers() + BUFFERS; }
};

// ceil(log2(count)): the rounds in which something reaches `count` nodes.
int rounds_of(int count);

// The highest power of two below a count.
int highest_below(int count);

// What a node does in a step with another one: it sends what it knows of the nodes `first` to before `last`, and takes what
// the other knows.
struct PairStep {
    int number;   // the same on both nodes
    int partner;
    bool sends, takes;
    int first, last;
    bool is_second;  // whether the nodes of the partner come before those of this one
    bool is_whole;   // whether the one that sends knows of all nodes
};

// The nodes of a team, joined to a power of two: node 2i takes part for node 2i + 1, of the first ones.
struct Pairs {
    const int nodes, joined, rounds;  // `joined`: nodes that are the second of a pair

    explicit Pairs(int n) : nodes(n), joined(n - highest_below(n + 1)), rounds(rounds_of(n - joined)) {}
    bool is_joined(int node) const { return node < 2 * joined && node % 2; }
    bool takes(int node) const { return node < 2 * joined && node % 2 == 0; }
    int number_of(int node) const { return node < 2 * joined ? node / 2 : node - joined; }
    int steps() const { return rounds + (joined ? 2 : 0); }
    int node_of(int number) const { return number < joined ? 2 * number : number + joined; }

    // The steps by which all nodes learn what one knows; those in which a node does nothing have partner -1. The first
    // and the last are only for nodes that are joined.
    std::vector<PairStep> steps_of(int node) const;
};

class Exchange {
 public:
    explicit Exchange(const Call &call, size_t most = SIZE_MAX);  // `most`: bytes of a part in a round

    int me() const { return team_.node; }
    int nodes() const { return static_cast<int>(team_.groups.size()); }
    const std::vector<int> &near() const { return team_.groups[static_cast<size_t>(me())]; }
    int parts() const { return parts_; }
    size_t share() const { return share_; }
    void divide(size_t least);  // makes fewer parts, of at least this many bytes

    // Calls `act` for each part that this PE owns.
    template <class Act>
    void each_part(Act act) const {
        for (int part = team_.index; part < parts_; part += static_cast<int>(near().size())) act(part);
    }

    // The bytes of a part in the round that begins at byte `at` of the arrays.
    Range range(size_t at, int part) const;
    size_t slot(int part, int node) const { return static_cast<size_t>(part) / group(node).size(); }
    int owner(int part, int node) const { return group(node)[static_cast<size_t>(part) % group(node).size()]; }  // in the team
    Landing landing(int part, int node) const { return {job_, (call_.handle * job_.width + slot(part, node)) * job_.landing()}; }

    // Calls `act` with the byte at which each round begins. Landings may be written again in the next one.
    template <class Act>
    bool each_round(Act act) {
        for (size_t at = 0; at < call_.bytes && good_; at += share_ * static_cast<size_t>(parts_)) {
            ++number_;
            act(at);
            finish();
        }
        return good_;
    }

    Combine step() const { return step_; }
    void reduce_near(const Range &range, char *to) const;  // reduces the arrays of the members of this node

    // Puts into the landing, or to the far address, of a part's owner on a node.
    void put_landing(int part, int node, uint64_t offset, const char *from, size_t bytes);
    void put(char *far, const char *from, size_t bytes) { good_ = good_ && (!bytes || puts_.start(far, from, bytes)); }
    void tell(int part, int node, uint64_t flag);
    void await(uint64_t flag, size_t step);  // `step`: see await_word()

    bool good() const { return good_; }
    bool finish() { return good_ = puts_.await() == Satisfied && good_; }

 private:
    const std::vector<int> &group(int node) const { return team_.groups[static_cast<size_t>(node)]; }
    uint64_t number() const { return call_.sequence * ROUNDS + number_; }

    const Call &call_;
    const Team &team_;
    const JobShape job_;
    const Combine step_;
    int parts_ = 1;
    size_t share_ = 0;  // bytes of a part in a round
    uint64_t number_ = 0;  // of the round
    Puts puts_;
    bool good_ = true;
};

inline char *own(uint64_t at) { return heap().regions.landings + at; }

}  // namespace ishmem::TRANSPORT
