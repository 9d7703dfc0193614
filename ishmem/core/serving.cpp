// The target's side of the engine: executes the requests of other PEs on this PE's memory. See network_engine.hpp.
#include <algorithm>

#include "network_engine.hpp"
#include "operations.hpp"

namespace ishmem {
namespace {

// Writes a payload. A word may be a flag, so it is written by a single store, ordered after all earlier stores.
void write(char *to, const char *from, size_t bytes) {
    const bool word = bytes <= 8 && (bytes & (bytes - 1)) == 0 && reinterpret_cast<uintptr_t>(to) % std::max<size_t>(bytes, 1) == 0;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (word && bytes) store_element(to, from, bytes);
    else std::memcpy(to, from, bytes);
}

size_t payload_of(const Record &record) {
    const bool carries = record.kind == Kind::Put || record.kind == Kind::Atomic || record.kind == Kind::Update || record.kind == Kind::Reply;
    return carries ? record.bytes : 0;
}

}  // namespace

void NetworkEngine::take(const Packet &packet) {
    const PacketHeader &header = packet.header;
    Peer &peer = peers_[static_cast<size_t>(header.from)];
    if (peer.lost) return;
    const bool was_awaited = peer.is_awaited();
    peer.done = std::max(peer.done, header.complete);
    awaited_ -= was_awaited && !peer.is_awaited();
    if (!header.number) return take_answers(packet);
    if (header.wants_reply) peer.wanted = header.number;
    const size_t served = peer.deferred.empty() ? serve(header.from, packet, 0) : 0;
    if (peer.deferred.empty() && served == header.used) peer.handled = header.number;
    else peer.deferred.emplace_back(std::make_unique<Packet>(packet), served);
    list(header.from);
}

void NetworkEngine::take_answers(const Packet &packet) {
    for (size_t at = 0; at < packet.header.used;) {
        Record record;
        std::memcpy(&record, packet.records + at, sizeof record);
        const char *payload = packet.records + at + sizeof record;
        const Slot slot = slots_[record.slot];
        free_slot(record.slot);
        int64_t value = 0;
        if (slot.into) std::memcpy(slot.into, payload, record.bytes);
        else std::memcpy(&value, payload, sizeof value), slot.group->value = value;
        end_one(slot.group);
        at += Packet::room_for(record.bytes);
    }
}

// Executes the records of a packet from offset `from` on. Returns the offset behind the Order at which it had to
// stop, or the end of the records.
size_t NetworkEngine::serve(int pe, const Packet &packet, size_t from) {
    for (size_t at = from; at < packet.header.used;) {
        Record record;
        std::memcpy(&record, packet.records + at, sizeof record);
        const char *payload = packet.records + at + sizeof record;
        at += Packet::room_for(payload_of(record));
        if (record.kind != Kind::Order) perform(pe, record, payload, packet.header.number);
        else if (peers_[static_cast<size_t>(pe)].arriving && at < packet.header.used) return at;
    }
    return packet.header.used;
}

void NetworkEngine::serve_deferred(int pe) {
    Peer &peer = peers_[static_cast<size_t>(pe)];
    while (!peer.deferred.empty() && !peer.arriving) {
        auto &[packet, at] = peer.deferred.front();
        at = serve(pe, *packet, at);
        if (at < packet->header.used) return;
        peer.handled = packet->header.number;
        peer.deferred.pop_front();
    }
}

void NetworkEngine::perform(int pe, const Record &record, const char *payload, uint64_t packet) {
    const bool amo = record.kind == Kind::Atomic || record.kind == Kind::Update;
    char *at = own(record.offset, amo ? record.item : record.bytes);
    if (!at) return check(-1, pe);  // the origin's checks should have rejected it: the origin counts as lost
    const Payload message = {at, record.bytes, pe, static_cast<int>(record.slot), record.short_pieces != 0};
    switch (record.kind) {
        case Kind::Put:
            write(at, payload, record.bytes);
            if (record.offset >= DEPARTURES_AT && record.offset < LANDINGS_AT) note_departure(pe);
            return;
        case Kind::PutLong: return start_pieces(message, false, nullptr, pe, packet);
        case Kind::Get: return reply(pe, record.slot, at, record.bytes);
        case Kind::GetLong: return start_pieces(message, true, nullptr, -1, packet);
        default: return perform_atomic(pe, record, payload);
    }
}

void NetworkEngine::perform_atomic(int pe, const Record &record, const char *payload) {
    uint64_t operands[2];
    std::memcpy(operands, payload, sizeof operands);
    uint64_t old;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!update_element(record.rmw, own(record.offset, record.item), record.item, operands[0], operands[1], &old)) return;
    if (record.kind == Kind::Atomic) reply(pe, record.slot, &old, sizeof old);
}

void NetworkEngine::reply(int pe, uint32_t slot, const void *payload, size_t bytes) {
    Peer &peer = peers_[static_cast<size_t>(pe)];
    if (peer.answers && !peer.answers->has_room(bytes)) {
        ++traffic_.answers;
        send(peer.answers, pe);
        peer.answers = nullptr;
    }
    if (!peer.answers) peer.answers = fresh();
    char *to = peer.answers->add(Record{Kind::Reply, 0, 0, 0, slot, 0, bytes}, bytes);
    if (bytes == 8 || bytes == 4) store_element(to, payload, bytes);
    else std::memcpy(to, payload, bytes);
    list(pe);
}

// Translates an offset in this PE's symmetric memory into an address; null when the range is in no region.
char *NetworkEngine::own(uint64_t offset, size_t bytes) const {
    const Heap &h = heap();
    const auto in = [bytes](char *base, size_t size, uint64_t at) { return base && at <= size && bytes <= size - at ? base + at : nullptr; };
    if (offset < STATICS_AT) return in(h.mapped[static_cast<size_t>(me_)], h.size, offset);
    if (offset >= LANDINGS_AT) return in(h.regions.landings, h.regions.landing_bytes, offset - LANDINGS_AT);
    if (offset >= DEPARTURES_AT) return in(h.regions.departures, h.regions.departure_bytes, offset - DEPARTURES_AT);
    if (offset >= MIRRORS_AT) return in(h.regions.mirrors, h.regions.mirror_bytes, offset - MIRRORS_AT);
    return h.static_in(me_, offset - STATICS_AT, bytes);
}

}  // namespace ishmem
