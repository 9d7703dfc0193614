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
    alignas(64) char total[BLOCK];
    for (size_t at = from; at < to; at += BLOCK) {
        const size_t bytes = std::min(BLOCK, to - at), count = bytes / elements.item;
        if (elements.sources == 1) std::memcpy(total, get(0) + at, bytes);
        else elements.step(total, get(0) + at, get(1) + at, count);
        for (int i = 2; i < elements.sources; ++i) elements.step(total, total, get(i) + at, count);
        put(at, total, bytes);
    }
}

// Scans the range [from, to). `before` holds the sum of what precedes source 0, or is null; `put(i, offset, sum, bytes)`
// receives the sum up to source i, which an exclusive scan excludes. A source is read before its sum is put.
template <class Get, class Put>
void scan_blocks(const Elements &elements, bool inclusive, size_t from, size_t to, const char *before, Get get, Put put) {
    alignas(64) char total[BLOCK], next[BLOCK];
    for (size_t at = from; at < to; at += BLOCK) {
        const size_t bytes = std::min(BLOCK, to - at), count = bytes / elements.item;
        if (before) std::memcpy(total, before + at, bytes);
        else std::memset(total, 0, bytes);
        for (int i = 0; i < elements.sources; ++i) {
            if (i || before) elements.step(next, total, get(i) + at, count);
            else std::memcpy(next, get(i) + at, bytes);
            put(i, at, inclusive ? next : total, bytes);
            std::memcpy(total, next, bytes);
        }
    }
}

}  // namespace ishmem::TRANSPORT
