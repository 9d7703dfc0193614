#include "exchange.hpp"

#include <cstring>

namespace ishmem::TRANSPORT {

JobShape::JobShape() {
    std::vector<size_t> sizes;
    for (int node : heap().nodes) {
        sizes.resize(std::max(sizes.size(), static_cast<size_t>(node) + 1));
        width = std::max(width, ++sizes[static_cast<size_t>(node)]);
    }
    nodes = sizes.size();
}

size_t JobShape::flags() const {
    const size_t words = static_cast<size_t>(MAX_STEPS) + 2 * nodes;
    return (words * sizeof(uint64_t) + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
}

size_t JobShape::landing() const { return flags() + Landing::BUFFERS + PART; }

size_t landing_bytes() {
    const JobShape job;
    return MAX_TEAMS * job.width * job.landing();
}

int rounds_of(int count) {
    int rounds = 0;
    while (1 << rounds < count) ++rounds;
    return rounds;
}

int highest_below(int count) {
    int bit = 1;
    while (2 * bit < count) bit *= 2;
    return bit;
}

std::vector<PairStep> Pairs::steps_of(int node) const {
    const int v = number_of(node), other = is_joined(node) ? node - 1 : takes(node) ? node + 1 : -1;
    std::vector<PairStep> all;
    all.reserve(static_cast<size_t>(steps()));
    if (joined) all.push_back({0, other, is_joined(node), takes(node), node, node + 1, false, false});
    for (int round = 0; round < rounds; ++round) {
        const int first = v >> round << round, partner = is_joined(node) ? -1 : node_of(v ^ 1 << round);
        all.push_back({1 + round, partner, partner >= 0, partner >= 0, node_of(first), node_of(first + (1 << round)), (v >> round & 1) != 0, false});
    }
    if (joined) all.push_back({1 + rounds, other, takes(node), is_joined(node), 0, nodes, false, true});
    return all;
}

Exchange::Exchange(const Call &call, size_t most) : call_(call), team_(*call.team), step_(combine_of(call.routine, call.type)) {
    for (const auto &group : team_.groups) parts_ = std::max(parts_, static_cast<int>(group.size()));
    share_ = std::min(share_of(call.bytes, parts_), most);
}

void Exchange::divide(size_t least) {
    parts_ = std::max(1, static_cast<int>(std::min(static_cast<size_t>(parts_), call_.bytes / least)));
    share_ = share_of(call_.bytes, parts_);
}

Range Exchange::range(size_t at, int part) const {
    const size_t from = std::min(at + static_cast<size_t>(part) * share_, call_.bytes);
    return {from, std::min(from + share_, call_.bytes)};
}

void Exchange::reduce_near(const Range &range, char *to) const {
    const auto get = [&](int i) { return call_.source_of(near()[static_cast<size_t>(i)]); };
    const auto put = [&](size_t offset, const char *sum, size_t bytes) { std::memcpy(to + (offset - range.from), sum, bytes); };
    if constexpr (MOVES_DATA) reduce_blocks({step_, call_.item, static_cast<int>(near().size())}, range.from, range.to, get, put);
    else for (size_t i = 0; i < near().size(); ++i) copy_near(to, get(static_cast<int>(i)), range.size());
}

void Exchange::put_landing(int part, int node, uint64_t offset, const char *from, size_t bytes) {
    put(far_address(team_.pe(owner(part, node)), LANDINGS_AT + offset), from, bytes);
}

void Exchange::tell(int part, int node, uint64_t flag) {
    const uint64_t value = number();
    good_ = good_ && remote_put_uncounted(far_address(team_.pe(owner(part, node)), LANDINGS_AT + flag), &value, sizeof value);
}

void Exchange::await(uint64_t flag, size_t step) {
    good_ = good_ && await_word(team_, reinterpret_cast<uint64_t *>(own(flag)), number(), step) == Satisfied;
}

}  // namespace ishmem::TRANSPORT
