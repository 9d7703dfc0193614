// Scans in teams that span nodes.
//
// The elements are divided into parts with owners: see exchange.hpp.
//   1. The owner reduces its part over the members of its node.
//   2. The part is divided into a piece for each node. The owners exchange their sums, so that the owner on node k has
//      those of all nodes for piece k. It combines them in the order of the nodes.
//   3. It sends the sum over all earlier nodes to the other owners.
//   4. Each owner scans over the members of its node and writes their parts.
// Each element is combined by one PE and in one order: the members of each node, then the nodes. The bits are therefore
// the same on every PE and in every run; in floating point they differ from those of a job on one node.
//
// A PE begins the next round of parts only when it has the results of all other nodes, whose owners have then read its
// sums. So no landing is overwritten before it was read.
#include <algorithm>
#include <cstring>

#include "exchange.hpp"

namespace ishmem::TRANSPORT {
namespace {

class Scan {
 public:
    explicit Scan(const Call &call)
        : call_(call), exchange_(call, PART), me_(exchange_.me()), nodes_(exchange_.nodes()), near_(exchange_.near()) {
        const size_t owned = (static_cast<size_t>(exchange_.parts()) + near_.size() - 1) / near_.size();
        sums_.resize(owned * exchange_.share());
        prefixes_.resize(owned * static_cast<size_t>(nodes_) * share_of(exchange_.share(), nodes_));
    }

    ~Scan() {
        if (exchange_.good()) return;
        leak(sums_);
        leak(prefixes_);
    }

    bool run() {
        return exchange_.each_round([&](size_t at) {
            exchange_.each_part([&](int part) { send_sums(exchange_.range(at, part), part); });
            exchange_.each_part([&](int part) { send_results(exchange_.range(at, part), part); });
            exchange_.each_part([&](int part) { finish(exchange_.range(at, part), part); });
            end_stage(2);
        });
    }

 private:
    Range piece(const Range &range, int node) const { return part_of(range.size(), nodes_, node); }
    char *sums(int part) { return sums_.data() + exchange_.slot(part, me_) * exchange_.share(); }

    void send(int part, int node, uint64_t offset, uint64_t flag, const char *from, size_t bytes) {
        exchange_.put_landing(part, node, offset, from, bytes);
        exchange_.tell(part, node, flag);
    }

    void send_sums(const Range &whole, int part) {
        char *to = sums(part);
        exchange_.reduce_near(whole, to);
        for (int i = 1; i < nodes_; ++i) {
            const int node = (me_ + i) % nodes_;
            const Range theirs = piece(whole, node);
            const Landing there = exchange_.landing(part, node);
            if (theirs.size())
                send(part, node, there.buffers() + static_cast<uint64_t>(me_) * share_of(whole.size(), nodes_), there.node_flag(me_), to + theirs.from, theirs.size());
        }
    }

    // Scans over the nodes for this node's piece of a part, and sends the results.
    void send_results(const Range &whole, int part) {
        const Range mine = piece(whole, me_);
        if (!mine.size()) return;
        const Landing here = exchange_.landing(part, me_);
        const size_t share = share_of(whole.size(), nodes_);
        for (int node = 0; node < nodes_; ++node)
            if (node != me_) exchange_.await(here.node_flag(node), 1);
        if (!exchange_.good()) return;
        const auto result = [&](int node) { return node == me_ ? own(here.results()) + mine.from : prefixes_.data() + (exchange_.slot(part, me_) * static_cast<size_t>(nodes_) + static_cast<size_t>(node)) * share; };
        const auto get = [&](int node) { return node == me_ ? sums(part) + mine.from : own(here.buffers()) + static_cast<size_t>(node) * share; };
        const Elements elements = {exchange_.step(), call_.item, nodes_};
        if (MOVES_DATA) scan_blocks(elements, false, 0, mine.size(), nullptr, get, [&](int node, size_t offset, const char *sum, size_t bytes) { std::memcpy(result(node) + offset, sum, bytes); });
        for (int i = 1; i < nodes_; ++i) {
            const int node = (me_ + i) % nodes_;
            const Landing there = exchange_.landing(part, node);
            send(part, node, there.results() + mine.from, there.node_flag(nodes_ + me_), result(node), mine.size());
        }
    }

    void finish(const Range &whole, int part) {
        const Landing here = exchange_.landing(part, me_);
        for (int node = 0; node < nodes_; ++node)
            if (node != me_ && piece(whole, node).size()) exchange_.await(here.node_flag(nodes_ + node), 2);
        if (!exchange_.good() || !whole.size()) return;
        const auto get = [&](int i) { return call_.source_of(near_[static_cast<size_t>(i)]); };
        const auto put = [&](int i, size_t offset, const char *sum, size_t bytes) { copy_near(call_.dest_of(near_[static_cast<size_t>(i)]) + offset, sum, bytes); };
        const char *before = me_ ? own(here.results()) - whole.from : nullptr;
        scan_blocks({exchange_.step(), call_.item, static_cast<int>(near_.size())}, call_.routine == SumInscan, whole.from, whole.to, before, get, put);
    }

    const Call &call_;
    Exchange exchange_;
    const int me_, nodes_;  // this node, and the number of nodes, of the team
    const std::vector<int> &near_;
    std::vector<char> sums_, prefixes_;
};

}  // namespace

bool scan_levels(const Call &call) { return Scan(call).run(); }

}  // namespace ishmem::TRANSPORT
