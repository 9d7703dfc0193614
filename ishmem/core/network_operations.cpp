// The origin's side of the engine: turns operations into records and long payloads. See network_engine.hpp.
#include <algorithm>

#include "network_engine.hpp"
#include "heap.hpp"
#include "sockets.hpp"

namespace ishmem {
namespace {

constexpr int LONGS = 64;        // maximum of pieces of long payloads in flight
constexpr uint32_t TAGS = 1 << 17;  // 2 * TAGS is below every library's MPI_TAG_UB

using Lock = std::lock_guard<std::mutex>;

}  // namespace

// Returns the open packet for a PE, with room for a payload; null when there is no credit for a new packet.
Packet *NetworkEngine::open(int pe, size_t payload, bool is_long_put, bool counted) {
    Peer &peer = peers_[static_cast<size_t>(pe)];
    const bool order = is_long_put ? peer.fenced : peer.long_before;
    const size_t needed = payload + (order ? sizeof(Record) : 0);
    if (peer.requests && !peer.requests->has_room(needed) && !flush(pe)) return nullptr;
    if (!peer.requests) {
        if (peer.sent - peer.done >= WINDOW) return nullptr;
        peer.requests = fresh();
        list(pe);
    }
    if (counted) {
        if (!peer.touched) touched_.push_back(pe);
        peer.touched = true;
        peer.counted = peer.sent + 1;
    }
    if (order) {
        peer.requests->add(Record{Kind::Order, 0, 0, 0, 0, 0, 0}, 0);
        peer.fenced = false;
    }
    peer.long_before = is_long_put;
    return peer.requests;
}

uint32_t NetworkEngine::slot_for(char *into, Group &group, int pe) {
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = Slot{into, &group, pe};
    ++group.pending;
    return slot;
}

void NetworkEngine::free_slot(uint32_t slot) {
    slots_[slot].group = nullptr;
    free_slots_.push_back(slot);
}

// Whether operations on a PE are dropped; `group` is that of one which needs an answer.
bool NetworkEngine::is_lost(int pe, Group *group) {
    const bool lost = peers_[static_cast<size_t>(pe)].lost;
    if (lost && group) group->lost = true;
    return lost;
}

bool NetworkEngine::fits(size_t bytes, bool short_pieces) const {
    return longs_ == 0 || longs_ + static_cast<int>(bytes / piece_of(short_pieces)) < LONGS;
}

// Tags of puts are even, tags of gets odd: a PE may send both kinds of payloads to another PE at the same time.
int NetworkEngine::new_tag(bool get) { return static_cast<int>(2 * (tags_++ % TAGS)) + get; }

// Returns the device address of heap memory where MPI handles device memory; otherwise the address itself.
char *NetworkEngine::address_for_mpi(char *at) {
    const Heap &h = heap();
    char *mapped = h.mapped[static_cast<size_t>(me_)];
    if (!setup_.device_memory || at < mapped || at >= mapped + h.size) return at;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // the device must see what the host has stored through its mapping
    count_direct();
    return h.base + (at - mapped);
}

void NetworkEngine::start_pieces(Payload payload, bool sends, Group *group, int from, uint64_t packet) {
    const auto [start, bytes, pe, tag, short_pieces] = payload;
    const size_t piece = piece_of(short_pieces);
    const bool staged = sends && staging_.accepts(start, bytes) && std::min(bytes, piece) <= Staging::PIECE;
    if (staged) staged_.fetch_add(1, std::memory_order_relaxed);
    char *at = address_for_mpi(start);
    for (size_t done = 0; done < bytes; done += piece) {
        const int count = static_cast<int>(std::min(piece, bytes - done));
        Transfer transfer = {0, group, pe, from, packet};
        if (group) ++group->pending, ++longs_;
        if (from >= 0) ++peers_[static_cast<size_t>(from)].arriving;
        if (staged) {
            staging_.add({at + done, count, pe, tag, transfer});
            continue;
        }
        check(sends ? mpi_.Isend(at + done, count, setup_.byte, pe, tag, setup_.payloads, &transfer.request)
                    : mpi_.Irecv(at + done, count, setup_.byte, pe, tag, setup_.payloads, &transfer.request), pe);
        transfers_.push_back(transfer);
    }
    if (staged) stage();
}

void NetworkEngine::end_one(Group *group) {
    const bool last_owner = group->abandoned;  // read first: its waiter may delete the group when nothing is pending
    if (--group->pending == 0 && last_owner) delete group;
}

bool NetworkEngine::put(char *far, const char *from, size_t bytes, Group &group, bool counted) {
    const Lock lock(mutex_);
    const bool is_long = bytes > EAGER, short_pieces = staging_.accepts(from, bytes);
    if (is_long && !fits(bytes, short_pieces)) return false;
    const int pe = far_pe(far);
    if (is_lost(pe)) return true;
    Packet *packet = open(pe, is_long ? 0 : bytes, is_long, counted);
    if (!packet) return false;
    if (!is_long) {
        std::memcpy(packet->add(Record{Kind::Put, 0, 0, 0, 0, far_offset(far), bytes}, bytes), from, bytes);
        return true;
    }
    const int tag = new_tag(false);
    packet->add(Record{Kind::PutLong, 0, 0, short_pieces, static_cast<uint32_t>(tag), far_offset(far), bytes}, 0);
    if (counted) peers_[static_cast<size_t>(pe)].asks = true;  // the next quiet need not ask in a packet of its own
    flush(pe);
    start_pieces({const_cast<char *>(from), bytes, pe, tag, short_pieces}, true, &group, -1, 0);
    return true;
}

bool NetworkEngine::get(char *into, const char *far, size_t bytes, Group &group) {
    const Lock lock(mutex_);
    const bool is_long = bytes > EAGER, short_pieces = staging_.on();  // then the target stages, too, as a rule
    if (is_long && !fits(bytes, short_pieces)) return false;
    const int pe = far_pe(far);
    if (is_lost(pe, &group)) return true;
    Packet *packet = open(pe, 0, false, false);  // the group tracks its completion
    if (!packet) return false;
    if (!is_long) {
        packet->add(Record{Kind::Get, 0, 0, 0, slot_for(into, group, pe), far_offset(far), bytes}, 0);
        return true;
    }
    const int tag = new_tag(true);
    start_pieces({into, bytes, pe, tag, short_pieces}, false, &group, -1, 0);
    packet->add(Record{Kind::GetLong, 0, 0, short_pieces, static_cast<uint32_t>(tag), far_offset(far), bytes}, 0);
    flush(pe);
    return true;
}

bool NetworkEngine::atomic(char *far, int rmw, size_t item, uint64_t value, uint64_t cond, Group &group) {
    const Lock lock(mutex_);
    const uint64_t operands[2] = {value, cond};
    if (is_lost(far_pe(far), &group)) return true;
    Packet *packet = open(far_pe(far), sizeof operands, false, false);
    if (!packet) return false;
    const Record record = {Kind::Atomic, static_cast<uint8_t>(rmw), static_cast<uint8_t>(item), 0, slot_for(nullptr, group, far_pe(far)), far_offset(far), sizeof operands};
    std::memcpy(packet->add(record, sizeof operands), operands, sizeof operands);
    return true;
}

bool NetworkEngine::update(char *far, int rmw, size_t item, uint64_t value) {
    const Lock lock(mutex_);
    const uint64_t operands[2] = {value, 0};
    if (is_lost(far_pe(far))) return true;
    Packet *packet = open(far_pe(far), sizeof operands, false);
    if (!packet) return false;
    const Record record = {Kind::Update, static_cast<uint8_t>(rmw), static_cast<uint8_t>(item), 0, 0, far_offset(far), sizeof operands};
    std::memcpy(packet->add(record, sizeof operands), operands, sizeof operands);
    return true;
}

// Eager puts are executed in order anyway, so only long puts need an Order.
void NetworkEngine::fence() {
    const Lock lock(mutex_);
    for (int pe : touched_) peers_[static_cast<size_t>(pe)].fenced |= peers_[static_cast<size_t>(pe)].long_before;
}

Mark NetworkEngine::mark_of(const std::vector<int> &pes) {
    Mark mark;
    for (int pe : pes) {
        Peer &peer = peers_[static_cast<size_t>(pe)];
        if (peer.counted <= peer.done) continue;
        mark.emplace_back(pe, peer.counted);
        if (peer.asked >= peer.counted) continue;
        peer.asks = true;
        list(pe);
    }
    return mark;
}

Mark NetworkEngine::mark() {
    const Lock lock(mutex_);
    const auto settled = [this](int pe) {
        Peer &peer = peers_[static_cast<size_t>(pe)];
        peer.touched = peer.counted > peer.done;
        return !peer.touched;
    };
    touched_.erase(std::remove_if(touched_.begin(), touched_.end(), settled), touched_.end());
    return mark_of(touched_);
}

Mark NetworkEngine::mark(int pe) {
    const Lock lock(mutex_);
    return mark_of({pe});
}

bool NetworkEngine::complete(const Mark &mark) {
    const Lock lock(mutex_);
    for (const auto &[pe, number] : mark)
        if (peers_[static_cast<size_t>(pe)].done < number) return false;
    return true;
}

void NetworkEngine::abandon(Group *group) {
    const Lock lock(mutex_);
    if (group->pending == 0) delete group;
    else group->abandoned = true;
}

void NetworkEngine::forget(int pe) {
    const Lock lock(mutex_);
    Peer &peer = peers_[static_cast<size_t>(pe)];
    if (peer.lost || setup_.sockets.empty()) return;
    peer.lost = true;
    awaited_ -= peer.is_awaited();
    for (Packet *open : {peer.requests, peer.answers})
        if (open) free_packets_.push_back(open);
    peer.sent += peer.requests != nullptr;
    peer.done = peer.asked = peer.counted = peer.sent;
    peer.requests = peer.answers = nullptr;
    peer.deferred.clear();
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
        Group *group = slots_[slot].pe == pe ? slots_[slot].group : nullptr;
        if (!group) continue;
        free_slot(slot);
        group->lost = true;
        end_one(group);
    }
    for (const Transfer &each : transfers_)
        if (each.other == pe && each.group) each.group->lost = true;
    drop_socket(pe);
}

}  // namespace ishmem
