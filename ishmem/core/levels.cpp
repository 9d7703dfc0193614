// Collectives in two levels, for teams that span nodes: within each node, between the nodes, and within each node again.
//
// Rendezvous. The members of a node read each other's slots. The first member of a node, its leader, sends them to the
// leaders of the other nodes by dissemination: in the round of distance d, leader i sends the slots of the nodes
// i, i - 1, ..., i - d + 1 to leader i + d. They arrive in mirrors, which all PEs of a node share. So a rendezvous takes
// one message per node and round, whatever the number of PEs, and moves the data of small messages with it.
//
// Reductions and scans. All nodes divide the elements into the same parts, as many as the largest node has members. A
// part has an *owner* on each node.
//   1. The owner reduces its part over the members of its node.
//   2. The part is divided into a piece for each node. The owners exchange their sums, so that the owner on node k has
//      those of all nodes for piece k. It combines them in the order of the nodes.
//   3. It sends the result of piece k to the other owners: the total, or for a scan the sum over all earlier nodes.
//   4. Each owner writes the part into the arrays of all members of its node, for a scan while it scans over them.
// Each element is combined by one PE and in one order: the members of each node, then the nodes. The bits are therefore
// the same on every PE and in every run; in floating point they differ from those of a job on one node.
//
// Sums and results arrive in the owner's *landing* of the team and part, each followed by a flag in which the numbers
// only grow. A PE begins the next round of parts only when it has the results of all other nodes, whose owners have then
// read its sums; and it begins the next call only after a rendezvous. So no landing is overwritten before it was read.
#include <algorithm>
#include <cstring>

#include "reductions.hpp"

namespace ishmem {
namespace {

constexpr size_t PART = 1 << 20;  // most bytes of a part in a round
constexpr uint64_t ROUNDS = 1 << 20;  // more than the rounds of a call: 2 TiB

// Writes a part of a member's ring into its mirror on the node of PE `to`.
bool mirror(const Call &call, int member, const void *part, size_t bytes, int to) {
    return remote_put_uncounted(far_address(to, call.mirror_of(member, part)), part, bytes);
}

bool forward_slot(const Call &call, int member, int to) {
    const Header *slot = call.header(member);
    const uint64_t *payload = call.payload_bytes(member);
    return mirror(call, member, &slot->signature, sizeof *slot - sizeof slot->sequence + *payload, to) &&
           mirror(call, member, payload, sizeof *payload, to) && mirror(call, member, &slot->sequence, sizeof slot->sequence, to);
}

// The sizes that all PEs of a job agree on: nodes, and PEs of the largest node.
struct JobShape {
    size_t nodes = 0, width = 0;

    JobShape() {
        std::vector<size_t> sizes;
        for (int node : heap().nodes) {
            sizes.resize(std::max(sizes.size(), static_cast<size_t>(node) + 1));
            width = std::max(width, ++sizes[static_cast<size_t>(node)]);
        }
        nodes = sizes.size();
    }
    size_t flags() const { return (2 * nodes * sizeof(uint64_t) + PART_UNIT - 1) / PART_UNIT * PART_UNIT; }
    size_t half() const { return PART + nodes * PART_UNIT; }
    size_t landing() const { return flags() + 2 * half(); }
};

// Where an owner receives one of its parts: flags, the sums of its piece by node, the results of the part.
struct Landing {
    const JobShape &job;
    uint64_t at;  // offset in the region of landings

    uint64_t sums_flag(int node) const { return at + static_cast<uint64_t>(node) * sizeof(uint64_t); }
    uint64_t results_flag(int node) const { return sums_flag(node) + job.nodes * sizeof(uint64_t); }
    uint64_t sums() const { return at + job.flags(); }
    uint64_t results() const { return sums() + job.half(); }
};

char *own(uint64_t at) { return heap().landings + at; }

class Reduction {
 public:
    explicit Reduction(const Call &call)
        : call_(call), team_(*call.team), scan_(is_scan(call.routine)), me_(team_.node), nodes_(static_cast<int>(team_.groups.size())),
          near_(team_.groups[static_cast<size_t>(me_)]), step_(combine_of(call.routine, call.type)) {
        for (const auto &group : team_.groups) parts_ = std::max(parts_, static_cast<int>(group.size()));
        share_ = std::min(share_of(call.bytes, parts_), PART);
        const size_t owned = (static_cast<size_t>(parts_) + near_.size() - 1) / near_.size();
        sums_.resize(owned * share_);
        if (scan_) prefixes_.resize(owned * static_cast<size_t>(nodes_) * share_of(share_, nodes_));
    }

    ~Reduction() {
        if (good_) return;
        leak(sums_);
        leak(prefixes_);
    }

    bool run() {
        const size_t round = share_ * static_cast<size_t>(parts_);
        for (size_t at = 0; at < call_.bytes && good_; at += round) {
            ++number_;
            for (int part = team_.index; part < parts_; part += static_cast<int>(near_.size())) send_sums(at, part);
            for (int part = team_.index; part < parts_; part += static_cast<int>(near_.size())) send_results(at, part);
            for (int part = team_.index; part < parts_; part += static_cast<int>(near_.size())) finish(at, part);
            good_ = puts_.await() == Satisfied && good_;
        }
        return good_;
    }

 private:
    // The bytes of a part in the round that begins at byte `at` of the arrays.
    Range range(size_t at, int part) const {
        const size_t from = std::min(at + static_cast<size_t>(part) * share_, call_.bytes);
        return {from, std::min(from + share_, call_.bytes)};
    }
    Range piece(const Range &range, int node) const { return part_of(range.size(), nodes_, node); }
    size_t slot(int part, int node) const { return static_cast<size_t>(part) / team_.groups[static_cast<size_t>(node)].size(); }
    char *sums(int part) { return sums_.data() + slot(part, me_) * share_; }

    int owner(int part, int node) const {
        const auto &group = team_.groups[static_cast<size_t>(node)];
        return team_.pe(group[static_cast<size_t>(part) % group.size()]);
    }
    Landing landing(int part, int node) const { return {job_, (call_.handle * job_.width + slot(part, node)) * job_.landing()}; }
    uint64_t number() const { return call_.sequence * ROUNDS + number_; }

    void send(int pe, uint64_t place, uint64_t flag, const char *from, size_t bytes) {
        const uint64_t value = number();
        good_ = good_ && puts_.start(far_address(pe, LANDINGS_AT + place), from, bytes) &&
                remote_put_uncounted(far_address(pe, LANDINGS_AT + flag), &value, sizeof value);
    }
    void await(uint64_t flag) { good_ = good_ && await_word(reinterpret_cast<uint64_t *>(own(flag)), number()) == Satisfied; }

    void send_sums(size_t at, int part) {
        const Range whole = range(at, part);
        char *to = sums(part);
        const auto get = [&](int i) { return call_.source_of(near_[static_cast<size_t>(i)]); };
        const auto put = [&](size_t offset, const char *sum, size_t bytes) { std::memcpy(to + (offset - whole.from), sum, bytes); };
        if (rehearsal) for (size_t i = 0; i < near_.size(); ++i) rehearsal->copy(to, get(static_cast<int>(i)), whole.size());
        else reduce_blocks({step_, call_.item, static_cast<int>(near_.size())}, whole.from, whole.to, get, put);
        for (int i = 1; i < nodes_; ++i) {
            const int node = (me_ + i) % nodes_;
            const Range theirs = piece(whole, node);
            const Landing there = landing(part, node);
            if (theirs.size())
                send(owner(part, node), there.sums() + static_cast<uint64_t>(me_) * share_of(whole.size(), nodes_), there.sums_flag(me_), to + theirs.from, theirs.size());
        }
    }

    // Combines this node's piece of a part and sends the results.
    void send_results(size_t at, int part) {
        const Range whole = range(at, part), mine = piece(whole, me_);
        if (!mine.size()) return;
        const Landing here = landing(part, me_);
        const size_t share = share_of(whole.size(), nodes_);
        for (int node = 0; node < nodes_; ++node)
            if (node != me_) await(here.sums_flag(node));
        if (!good_) return;
        char *total = own(here.results()) + mine.from;
        const auto result = [&](int node) { return !scan_ || node == me_ ? total : prefixes_.data() + (slot(part, me_) * static_cast<size_t>(nodes_) + static_cast<size_t>(node)) * share; };
        const auto get = [&](int node) { return node == me_ ? sums(part) + mine.from : own(here.sums()) + static_cast<size_t>(node) * share; };
        const Elements elements = {step_, call_.item, nodes_};
        if (rehearsal) {}  // nothing to combine
        else if (scan_) scan_blocks(elements, false, 0, mine.size(), nullptr, get, [&](int node, size_t offset, const char *sum, size_t bytes) { std::memcpy(result(node) + offset, sum, bytes); });
        else reduce_blocks(elements, 0, mine.size(), get, [&](size_t offset, const char *sum, size_t bytes) { std::memcpy(total + offset, sum, bytes); });
        for (int i = 1; i < nodes_; ++i) {
            const int node = (me_ + i) % nodes_;
            const Landing there = landing(part, node);
            send(owner(part, node), there.results() + mine.from, there.results_flag(me_), result(node), mine.size());
        }
    }

    void finish(size_t at, int part) {
        const Range whole = range(at, part);
        const Landing here = landing(part, me_);
        for (int node = 0; node < nodes_; ++node)
            if (node != me_ && piece(whole, node).size()) await(here.results_flag(node));
        if (!good_ || !whole.size()) return;
        const char *results = own(here.results());
        if (!scan_) {
            for (int member : near_) copy_near(call_.dest_of(member) + whole.from, results, whole.size());
            return;
        }
        const auto get = [&](int i) { return call_.source_of(near_[static_cast<size_t>(i)]); };
        const auto put = [&](int i, size_t offset, const char *sum, size_t bytes) { copy_near(call_.dest_of(near_[static_cast<size_t>(i)]) + offset, sum, bytes); };
        const char *before = me_ ? results - whole.from : nullptr;
        scan_blocks({step_, call_.item, static_cast<int>(near_.size())}, call_.routine == SumInscan, whole.from, whole.to, before, get, put);
    }

    const Call &call_;
    const Team &team_;
    const JobShape job_;
    const bool scan_;
    const int me_, nodes_;  // this node, and the number of nodes, of the team
    const std::vector<int> &near_;
    const Combine step_;
    int parts_ = 1;
    size_t share_ = 0;  // bytes of a part in a round
    uint64_t number_ = 0;  // of the round
    std::vector<char> sums_, prefixes_;
    Puts puts_;
    bool good_ = true;
};

}  // namespace

Outcome forward_slots(const Call &call) {
    const Team &team = *call.team;
    const int n = static_cast<int>(team.groups.size()), me = team.node;
    const auto group = [&](int node) -> const std::vector<int> & { return team.groups[static_cast<size_t>((node + 2 * n) % n)]; };
    Outcome outcome = await_slots(call, group(me), FROM_NODE);
    for (int distance = 1; distance < n && outcome == Satisfied; distance *= 2) {
        const int count = std::min(distance, n - distance), to = team.leaders[static_cast<size_t>((me + distance) % n)];
        for (int k = 0; k < count; ++k)
            for (int member : group(me - k))
                if (!forward_slot(call, member, to)) return PyErr_Occurred() ? Interrupted : Lost;
        for (int k = 0; k < count && outcome == Satisfied; ++k) outcome = await_slots(call, group(me - distance - k), FROM_NETWORK);
    }
    return outcome;
}

bool reduce_levels(const Call &call) { return Reduction(call).run(); }

size_t landing_bytes() {
    const JobShape job;
    return MAX_TEAMS * job.width * job.landing();
}

}  // namespace ishmem
