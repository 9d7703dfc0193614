// Elementwise reductions and scans over several sources, block by block and in the order of the sources.
#pragma once
#include <algorithm>
#include <cstring>

#include "collectives.hpp"

namespace ishmem::TRANSPORT {

constexpr size_t BLOCK = 16 << 10;  // fits into the L1 cache while it is reduced and stored
constexpr size_t PART_UNIT = 64;    // alignment in bytes of the parts into which members divide their work

struct Elements {
    Combine step;
    size_t item;
    int sources;
    const Halves *halves = nullptr;  // of floats of 16 bits, which `step` combines as float32

    size_t wide(size_t bytes) const { return halves ? 2 * bytes : bytes; }
    size_t block() const { return BLOCK / wide(1); }  // bytes of a source that are combined at a time

    // Return the numbers of some bytes of a source, and what is stored of results; `room` is of a block.
    const char *numbers(const char *from, size_t bytes, char *room) const {
        if (halves) halves->widen(room, from, bytes / item);
        return halves ? room : from;
    }
    const char *stored(const char *results, size_t bytes, char *room) const {
        if (halves) halves->round(room, results, bytes / item);
        return halves ? room : results;
    }
};

// A half-open byte range.
struct Range {
    size_t from, to;
    size_t size() const { return to - from; }
};

// Bytes of each of `parts` aligned parts, of which the last ones may be shorter or empty.
inline size_t share_of(size_t bytes, int parts) {
    const size_t n = static_cast<size_t>(parts);
    return ((bytes + n - 1) / n + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
}

inline Range part_of(size_t bytes, int parts, int index) {
    const size_t share = share_of(bytes, parts), from = std::min(static_cast<size_t>(index) * share, bytes);
    return {from, std::min(from + share, bytes)};
}


// Reduces the range [from, to). `get(i)` returns source i; `put(offset, total, bytes)` receives each block.
template <class Get, class Put>
void reduce_blocks(const Elements &elements, size_t from, size_t to, Get get, Put put) {
    alignas(64) char total[BLOCK], first[BLOCK], next[BLOCK];
    for (size_t at = from; at < to; at += elements.block()) {
        const size_t bytes = std::min(elements.block(), to - at), count = bytes / elements.item;
        const auto numbers = [&](int i, char *room) { return elements.numbers(get(i) + at, bytes, room); };
        if (elements.sources == 1) std::memcpy(total, numbers(0, first), elements.wide(bytes));
        else elements.step(total, numbers(0, first), numbers(1, next), count);
        for (int i = 2; i < elements.sources; ++i) elements.step(total, total, numbers(i, next), count);
        put(at, elements.stored(total, bytes, next), bytes);
    }
}

// Scans the range [from, to). `before` holds the sum of what precedes source 0, or is null; `put(i, offset, sum, bytes)`
// receives the sum up to source i, which an exclusive scan excludes. A source is read before its sum is put.
template <class Get, class Put>
void scan_blocks(const Elements &elements, bool inclusive, size_t from, size_t to, const char *before, Get get, Put put) {
    alignas(64) char total[BLOCK], next[BLOCK], room[BLOCK];
    for (size_t at = from; at < to; at += elements.block()) {
        const size_t bytes = std::min(elements.block(), to - at), count = bytes / elements.item, wide = elements.wide(bytes);
        if (before) std::memcpy(total, before + at, bytes);
        else std::memset(total, 0, wide);
        for (int i = 0; i < elements.sources; ++i) {
            const char *numbers = elements.numbers(get(i) + at, bytes, room);
            if (i || before) elements.step(next, total, numbers, count);
            else std::memcpy(next, numbers, wide);
            put(i, at, elements.stored(inclusive ? next : total, bytes, room), bytes);
            std::memcpy(total, next, wide);
        }
    }
}

}  // namespace ishmem::TRANSPORT
