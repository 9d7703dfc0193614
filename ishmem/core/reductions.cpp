// Reductions and scans, in member order, so a floating-point result has the same bits on all PEs.
#include "reductions.hpp"

#include <algorithm>
#include <cstring>

namespace ishmem::TRANSPORT {
namespace {

// Reduces or scans the half-open byte range [from, to) of all members. `get(member)` returns a member's source;
// `put(member, offset, result, bytes)` receives that member's result of one block.
template <class Get, class Put>
void run(const Call &call, size_t from, size_t to, Get get, Put put) {
    const Elements elements = {combine_of(call.routine, call.type), call.item, call.size(), halves_of(call.type)};
    const auto put_all = [&](size_t at, const char *total, size_t bytes) {
        for (int j = 0; j < call.size(); ++j) put(j, at, total, bytes);
    };
    if (is_scan(call.routine)) scan_blocks(elements, call.routine == SumInscan, from, to, nullptr, get, put);
    else reduce_blocks(elements, from, to, get, put_all);
}

}  // namespace

void reduce_in_slot(const Call &call) {
    char *mine = call.dest_of(call.me());
    if (call.team->spans && carried(call) == Carried::Sum) return copy_near(mine, call.sum.data(), call.bytes);
    const auto get = [&](int j) { return j == call.me() ? call.source_of(j) : call.data(j); };
    const auto put = [&](int j, size_t at, const char *result, size_t bytes) {
        if (j == call.me()) std::memcpy(mine + at, result, bytes);
    };
    run(call, 0, call.bytes, get, put);
}

// Member i reduces part i of all sources and writes the result into every dest, so each byte is read and written once.
void reduce_mapped(const Call &call) {
    const Range range = part_of(call.bytes, call.size(), call.me());
    const auto get = [&](int j) { return call.source_of(j); };
    const auto put = [&](int j, size_t at, const char *result, size_t bytes) { copy_near(call.dest_of(j) + at, result, bytes); };
    run(call, range.from, range.to, get, put);
}

// reduce_mapped across nodes: first gets the parts of members on other nodes, at the end puts their results. The member
// order is the same, so the result has the same bits as in a job on one node.
bool reduce_spanning(const Call &call) {
    const Range range = part_of(call.bytes, call.size(), call.me());
    if (!range.size()) return true;
    const size_t parts = static_cast<size_t>(call.size());
    std::vector<std::vector<char>> fetched(parts), results(parts);
    Gets gets;
    bool good = true;
    int first_far = -1;
    for (int j = 0; j < call.size(); ++j) {
        const size_t k = static_cast<size_t>(j);
        if (!is_far(call.source_of(j))) continue;
        fetched[k].resize(range.size());
        if (is_scan(call.routine) || first_far < 0) results[k].resize(range.size());
        if (first_far < 0) first_far = j;
        good = good && gets.start(fetched[k].data(), call.source_of(j) + range.from, range.size());
    }
    if (!good || gets.await() != Satisfied) {
        leak(fetched);
        return false;
    }
    const auto get = [&](int j) { return is_far(call.source_of(j)) ? fetched[static_cast<size_t>(j)].data() - range.from : call.source_of(j); };
    const auto put = [&](int j, size_t at, const char *result, size_t bytes) {
        std::vector<char> &kept = results[static_cast<size_t>(j)];
        if (!is_far(call.dest_of(j))) copy_near(call.dest_of(j) + at, result, bytes);
        else if (!kept.empty()) std::memcpy(kept.data() + (at - range.from), result, bytes);
    };
    run(call, range.from, range.to, get, put);
    for (int j = 0; j < call.size(); ++j) {
        const char *result = results[static_cast<size_t>(is_scan(call.routine) ? j : first_far)].data();
        if (is_far(call.dest_of(j)) && !remote_put(call.dest_of(j) + range.from, result, range.size())) return false;
    }
    return remote_quiet() == Satisfied;  // the barrier that ends the call may overtake the results
}

// Binomial tree: in round k a member combines the partial result of the member 2^k after it; then member 0 broadcasts
// the total down the tree.
Outcome reduce_tree(const Call &call) {
    const int me = call.me(), size = call.size();
    const Combine step = combine_of(call.routine, call.type);
    char *mine = call.dest_of(me);
    std::memmove(mine, call.source_of(me), call.bytes);
    for (int distance = 1; distance < size && !(me & distance); distance *= 2) {
        if (me + distance >= size) continue;
        const Outcome outcome = await(call, Combined, me + distance);
        if (outcome != Satisfied) return outcome;
        step(mine, mine, call.dest_of(me + distance), call.count);
    }
    raise(call, Combined);
    return broadcast_tree(call);
}

}  // namespace ishmem::TRANSPORT
