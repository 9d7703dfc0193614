#include "staging.hpp"

#include <cstring>

#include "operations.hpp"

namespace ishmem {
namespace {

constexpr int NOT_READY = 1;  // ZE_RESULT_NOT_READY

}  // namespace

bool Staging::accepts(const char *from, size_t bytes) const {
    const Heap &h = heap();
    const char *mapped = h.mapped[static_cast<size_t>(h.me)];
    return on() && bytes >= h.cutover && from >= mapped && from < mapped + h.size;
}

bool Staging::copy() {
    const Heap &h = heap();
    bool any = false;
    for (; copying_ < pieces_.size() && !used_[next_]; any = true) {
        const Piece &piece = pieces_[copying_++];
        const char *from = h.base + (piece.from - h.mapped[static_cast<size_t>(h.me)]);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);  // the device must see what the host has stored through its mapping
        if (setup_.append_copy(setup_.list, buffer(next_), from, static_cast<size_t>(piece.bytes), setup_.events[next_], 0, nullptr)) failed_ = true;
        used_[next_] = true;
        next_ = (next_ + 1) % STAGES;
    }
    return any;
}

bool Staging::take(Piece &piece, const char *&at) {
    if (!copying_) return false;
    const size_t stage = (next_ + STAGES - copying_) % STAGES;
    const int result = setup_.query(setup_.events[stage]);
    failed_ = failed_ || (result && result != NOT_READY) || (result && device_status());
    if (result && !failed_) return false;
    piece = pieces_.front();
    pieces_.pop_front();
    --copying_;
    if (result) std::memcpy(buffer(stage), piece.from, static_cast<size_t>(piece.bytes));
    else setup_.reset(setup_.events[stage]);
    piece.transfer.stage = static_cast<int>(stage);
    at = buffer(stage);
    return true;
}

}  // namespace ishmem
