// Algorithms between the nodes of a team whose messages grow with the logarithm of the number of nodes.
//
// Broadcast. The nodes are numbered from that of the root. A block goes down a binomial tree: node v receives from the
// node with the lowest bit of v cleared. With `Rounds`, each message is the whole part. With `Levels`, the part is divided
// into a piece for each node: a message down the tree has the pieces of the receiver's subtree, and an allgather by
// dissemination follows, in whose round of distance d node v sends the pieces v, v - 1, ..., v - d + 1 to node v + d. So
// a node sends a block twice at most, and in messages of decreasing or increasing size.
//
// Reductions. Each owner reduces its part over the members of its node. The nodes are a power of two, after the first ones
// have been joined in pairs: node 2i takes the sum of node 2i + 1, and in the end gives it the result. Then the nodes
// combine their sums in rounds of distance 1, 2, 4, ... With `Rounds`, two nodes exchange their whole sums. With `Levels`,
// each gives the other one half of what it has, so that in the end each node has the total of one piece; they
// exchange these in the rounds of the opposite order. Both combine the same sums, that of the lower nodes first. So the bits
// are the same on every PE and in every run.
//
// A sum arrives in a buffer of its round. With `Levels`, a node that has begun the next round of parts has received its
// results from those to whose buffers it puts, so they have combined what was there. With `Rounds` there is one such round.
// Model: tests/models/rounds.pml.
//
// Alltoall. Each member serves some of the other nodes, consecutive ones, in both directions. It collects the blocks of its
// node's members for them, puts those for a node into the landing of the member that serves this node there, as one
// message, and copies what arrives to the members. So a node sends one message to each other node, and members of a node
// copy few and long runs of blocks.
#include <cstring>

#include "exchange.hpp"

namespace ishmem::TRANSPORT {
namespace {

constexpr size_t LEAST_PART = 64 << 10;  // of a broadcast: shorter ones take as long, and more messages

// The steps of the tree that lead to a node.
int depth_of(int v) { return __builtin_popcount(static_cast<unsigned>(v)); }

class NodeBroadcast {
 public:
    explicit NodeBroadcast(const Call &call)
        : call_(call), exchange_(call), n_(exchange_.nodes()), divided_(call.algorithm == Levels && n_ > 2) {
        exchange_.divide(LEAST_PART);
        for (int node = 0; node < n_; ++node)
            for (int member : call.team->groups[static_cast<size_t>(node)])
                if (member == call.root) root_ = node;
        v_ = (exchange_.me() - root_ + n_) % n_;
        from_ = v_ ? call.dest_of(call.me()) : call.source_of(call.root);
    }

    bool run() {
        exchange_.each_part([&](int part) { await(part, TREE, static_cast<size_t>(depth_of(v_))); send_down(part); });
        end_stage(rounds_of(n_));
        for (int step = 0; divided_ && step < rounds_of(n_); ++step) {
            exchange_.each_part([&](int part) { send_around(part, step); });
            exchange_.each_part([&](int part) { await(part, step, static_cast<size_t>(step) + 1); });
        }
        if (divided_) end_stage(rounds_of(n_));
        exchange_.each_part([&](int part) { copy(part); });
        return exchange_.finish();
    }

 private:
    static constexpr int TREE = MAX_STEPS - 1;

    void await(int part, int step, size_t phase) {
        if (v_) exchange_.await(exchange_.landing(part, exchange_.me()).step_flag(step), phase);
    }

    void send_down(int part) {
        for (int distance = v_ ? (v_ & -v_) / 2 : highest_below(n_); distance; distance /= 2) {
            const int child = v_ + distance;
            if (child >= n_) continue;
            if (divided_) put_pieces(part, child, child, std::min(child + distance, n_));
            else put_pieces(part, child, 0, n_);
            tell(part, child, TREE);
        }
    }

    // A round of the allgather. The root's node has all pieces.
    void send_around(int part, int step) {
        const int distance = 1 << step, count = std::min(distance, n_ - distance), to = (v_ + distance) % n_;
        if (!to) return;
        const int first = v_ - count + 1;
        if (first < 0) put_pieces(part, to, n_ + first, n_);
        put_pieces(part, to, std::max(first, 0), v_ + 1);
        tell(part, to, step);
    }

    int node_of(int v) const { return (v + root_) % n_; }
    void tell(int part, int v, int step) { exchange_.tell(part, node_of(v), exchange_.landing(part, node_of(v)).step_flag(step)); }

    void put_pieces(int part, int v, int first, int last) {
        const Range whole = exchange_.range(0, part);
        const size_t from = whole.from + part_of(whole.size(), n_, first).from, to = whole.from + part_of(whole.size(), n_, last - 1).to;
        exchange_.put(call_.dest_of(exchange_.owner(part, node_of(v))) + from, from_ + from, to - from);
    }

    void copy(int part) {
        const Range whole = exchange_.range(0, part);
        if (!exchange_.good() || !whole.size()) return;
        for (int member : exchange_.near()) copy_near(call_.dest_of(member) + whole.from, from_ + whole.from, whole.size());
    }

    const Call &call_;
    Exchange exchange_;
    const int n_;
    const bool divided_;
    int root_ = 0, v_ = 0;  // the root's node; this node, numbered from it
    const char *from_ = nullptr;
};

class NodeReduction {
 public:
    explicit NodeReduction(const Call &call)
        : call_(call), exchange_(call, PART), me_(exchange_.me()), pairs_(exchange_.nodes()), v_(pairs_.number_of(me_)),
          whole_(call.algorithm == Rounds && exchange_.share() <= WHOLE && exchange_.share() * static_cast<size_t>(exchange_.parts()) >= call.bytes) {}

    bool run() {
        return exchange_.each_round([&](size_t at) {
            at_ = at;
            exchange_.each_part([&](int part) { exchange_.reduce_near(range(part), results(part)); });
            join();
            for (int round = 0; round < pairs_.rounds; ++round) step([&](int part) { send_sum(part, round); }, [&](int part) { take_sum(part, round); });
            for (int round = pairs_.rounds; !whole_ && round--;) step([&](int part) { send_result(part, round); }, [&](int part) { await(part, RESULT + round); });
            part_again();
            exchange_.each_part([&](int part) { copy(part); });
        });
    }

 private:
    static constexpr int JOIN = 0, SUM = 1, RESULT = 32, AGAIN = 64;  // steps
    static constexpr size_t WHOLE = 2 * PART / 16;  // bytes of a part for each round with `Rounds`

    Range range(int part) const { return exchange_.range(at_, part); }
    Landing here(int part) const { return exchange_.landing(part, me_); }
    char *results(int part) const { return own(here(part).results()); }
    // Where the sum of all nodes with which this one has combined its own is after some rounds.
    char *sum_after(int part, int rounds) const { return whole_ && rounds ? own(here(part).buffers() + buffer(rounds - 1)) : results(part); }
    // Offset of the buffer for a sum; that for the first of a pair is the first.
    size_t buffer(int round) const { return PART + (whole_ ? static_cast<size_t>(round) * WHOLE : PART - (PART >> round) + static_cast<size_t>(round) * PART_UNIT); }

    // The bytes of a part whose sum this node has after some rounds.
    Range kept(int part, int rounds) const {
        Range left = {0, range(part).size()};
        for (int round = 0; round < rounds && !whole_; ++round) left = half(left, v_ >> round & 1);
        return left;
    }
    static Range half(const Range &of, int second) {
        const size_t middle = of.from + share_of(of.size(), 2);
        return second ? Range{std::min(middle, of.to), of.to} : Range{of.from, std::min(middle, of.to)};
    }

    void send(int part, int node, uint64_t offset, const char *from, size_t bytes, int step) {
        exchange_.put_landing(part, node, offset, from, bytes);
        exchange_.tell(part, node, exchange_.landing(part, node).step_flag(step));
    }
    void await(int part, int step) { exchange_.await(here(part).step_flag(step), 1); }

    template <class Send, class Take>
    void step(Send send, Take take) {
        if (!pairs_.is_joined(me_)) {
            exchange_.each_part(send);
            exchange_.each_part(take);
        }
        end_stage(1);
    }

    void join() {
        if (!pairs_.joined) return;
        exchange_.each_part([&](int part) {
            if (pairs_.is_joined(me_)) send(part, me_ - 1, exchange_.landing(part, me_ - 1).buffers(), results(part), range(part).size(), JOIN);
            if (!pairs_.takes(me_)) return;
            await(part, JOIN);
            combine(results(part), results(part), own(here(part).buffers()), range(part).size());
        });
        end_stage(1);
    }

    void part_again() {
        if (!pairs_.joined) return;
        exchange_.each_part([&](int part) {
            const char *total = sum_after(part, pairs_.rounds);
            if (pairs_.takes(me_)) send(part, me_ + 1, exchange_.landing(part, me_ + 1).results(), total, range(part).size(), AGAIN);
            if (pairs_.is_joined(me_)) await(part, AGAIN);
        });
        end_stage(1);
    }

    int partner(int round) const { return pairs_.node_of(v_ ^ 1 << round); }

    void send_sum(int part, int round) {
        const Range before = kept(part, round), theirs = whole_ ? before : half(before, !(v_ >> round & 1));
        const Landing there = exchange_.landing(part, partner(round));
        send(part, partner(round), there.buffers() + buffer(round), sum_after(part, round) + theirs.from, theirs.size(), SUM + round);
    }

    void take_sum(int part, int round) {
        await(part, SUM + round);
        const Range mine = kept(part, round + 1);
        const char *own_sum = sum_after(part, round) + mine.from, *other = own(here(part).buffers() + buffer(round));
        const bool second = v_ >> round & 1;
        combine(sum_after(part, round + 1) + mine.from, second ? other : own_sum, second ? own_sum : other, mine.size());
    }

    void send_result(int part, int round) {
        const Range mine = kept(part, round + 1);
        const Landing there = exchange_.landing(part, partner(round));
        send(part, partner(round), there.results() + mine.from, results(part) + mine.from, mine.size(), RESULT + round);
    }

    void combine(char *to, const char *first, const char *second, size_t bytes) const {
        if (MOVES_DATA && exchange_.good()) exchange_.step()(to, first, second, bytes / call_.item);
    }

    void copy(int part) {
        const Range whole = range(part);
        const char *total = pairs_.is_joined(me_) ? results(part) : sum_after(part, pairs_.rounds);
        if (!exchange_.good()) return;
        for (int member : exchange_.near()) copy_near(call_.dest_of(member) + whole.from, total, whole.size());
    }

    const Call &call_;
    Exchange exchange_;
    const int me_;
    const Pairs pairs_;
    const int v_;  // number of this node, or of the first of its pair
    const bool whole_;
    size_t at_ = 0;  // where the round begins
};

// The nodes that a member of a node serves: those with numbers from `first` to before `last`.
struct Served {
    int first, last;

    Served(int index, int members, int nodes) : first(from(index, members, nodes)), last(from(index + 1, members, nodes)) {}
    static int by(int node, int members, int nodes) { return static_cast<int>(static_cast<int64_t>(node) * members / nodes); }

 private:
    static int from(int index, int members, int nodes) { return static_cast<int>((static_cast<int64_t>(index) * nodes + members - 1) / members); }
};

class NodeAlltoall {
 public:
    explicit NodeAlltoall(const Call &call)
        : call_(call), groups_(call.team->groups), exchange_(call), me_(exchange_.me()), n_(exchange_.nodes()), near_(exchange_.near()),
          index_(call.team->index), served_(index_, static_cast<int>(near_.size()), n_) {
        for (int node = served_.first; node < served_.last; ++node)
            if (node != me_) members_.insert(members_.end(), groups_[static_cast<size_t>(node)].begin(), groups_[static_cast<size_t>(node)].end());
    }

    ~NodeAlltoall() {
        if (!exchange_.good()) leak(messages_);
    }

    bool run() {
        send();
        for (int member : near_) copy_near(call_.dest_of(call_.me()) + block(member), call_.source_of(member) + block(call_.me()), call_.bytes);
        each_served([&](int node) { exchange_.await(exchange_.landing(index_, me_).node_flag(node), 1); });
        end_stage(1);
        if (exchange_.good()) deal_out();
        return exchange_.finish();
    }

 private:
    size_t block(int index) const { return static_cast<size_t>(index) * call_.bytes; }
    size_t size(int node) const { return groups_[static_cast<size_t>(node)].size(); }

    template <class Act>
    void each_served(Act act) const {
        for (int node = served_.first; node < served_.last; ++node)
            if (node != me_) act(node);
    }

    // Calls `act(first, count)` for each run of consecutive members among those of the served nodes.
    template <class Act>
    void each_run(Act act) const {
        for (size_t first = 0, next; first < members_.size(); first = next) {
            for (next = first + 1; next < members_.size() && members_[next] == members_[next - 1] + 1;) ++next;
            act(first, next - first);
        }
    }

    // A row has the blocks of one member of this node for, or from, all members of the served nodes.
    char *row(size_t i) { return rows_.data() + i * members_.size() * call_.bytes; }

    // A message from one node to another has a row for each sender.
    void send() {
        rows_.resize(near_.size() * members_.size() * call_.bytes);
        messages_.resize(rows_.size());
        for (size_t i = 0; i < near_.size(); ++i)
            each_run([&](size_t first, size_t count) { copy_near(row(i) + first * call_.bytes, call_.source_of(near_[i]) + block(members_[first]), count * call_.bytes); });
        char *message = messages_.data();
        size_t column = 0;
        each_served([&](int node) {
            const size_t bytes = size(node) * call_.bytes;
            for (size_t i = 0; i < near_.size(); ++i) std::memcpy(message + i * bytes, row(i) + column, bytes);
            column += bytes;
            put(node, message, near_.size() * bytes);
            message += near_.size() * bytes;
        });
    }

    void put(int node, const char *message, size_t bytes) {
        const int receiver = Served::by(me_, static_cast<int>(size(node)), n_);
        const Landing there = exchange_.landing(receiver, node);
        size_t before = 0;  // senders whose messages are in front of this one
        for (int other = Served(receiver, static_cast<int>(size(node)), n_).first; other < me_; ++other)
            if (other != node) before += size(other);
        exchange_.put_landing(receiver, node, there.buffers() + before * size(node) * call_.bytes, message, bytes);
        exchange_.tell(receiver, node, there.node_flag(me_));
    }

    void deal_out() {
        const char *arrived = own(exchange_.landing(index_, me_).buffers());
        for (size_t i = 0; MOVES_DATA && i < near_.size(); ++i)
            for (size_t sender = 0; sender < members_.size(); ++sender)
                std::memcpy(row(i) + sender * call_.bytes, arrived + (sender * near_.size() + i) * call_.bytes, call_.bytes);
        for (size_t i = 0; i < near_.size(); ++i)
            each_run([&](size_t first, size_t count) { copy_near(call_.dest_of(near_[i]) + block(members_[first]), row(i) + first * call_.bytes, count * call_.bytes); });
    }

    const Call &call_;
    const std::vector<std::vector<int>> &groups_;
    Exchange exchange_;
    const int me_, n_;  // this node, and the number of nodes, of the team
    const std::vector<int> &near_;
    const int index_;
    const Served served_;
    std::vector<int> members_;  // of the served nodes, in the order of the nodes
    std::vector<char> rows_, messages_;
};

}  // namespace

bool fits_alltoall(const Call &call) {
    size_t least = SIZE_MAX, most = 0;
    for (const auto &group : call.team->groups) least = std::min(least, group.size()), most = std::max(most, group.size());
    const size_t nodes = call.team->groups.size();
    return (nodes + least - 1) / least * most * most * call.bytes <= Landing::BUFFERS;
}

bool alltoall_between_nodes(const Call &call) { return NodeAlltoall(call).run(); }

bool reduce_between_nodes(const Call &call) { return NodeReduction(call).run(); }

bool broadcast_between_nodes(const Call &call) { return NodeBroadcast(call).run(); }

}  // namespace ishmem::TRANSPORT
