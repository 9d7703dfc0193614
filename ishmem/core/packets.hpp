// The wire format between the engines of two PEs: packets of records. See network_engine.hpp.
#pragma once
#include <cstring>

#include "mpi_table.hpp"

namespace ishmem {

enum class Kind : uint8_t {
    Put,       // eager: the payload goes to `offset`
    PutLong,   // rendezvous: `bytes` follow as separate messages with tag `slot`
    Get,       // answered by a Reply
    GetLong,   // answered by `bytes` in separate messages with tag `slot`
    Atomic,    // payload: value, condition; answered by a Reply
    Update,    // Atomic without an answer
    Order,     // the target defers later records until earlier long payloads have arrived
    Reply,     // answer to the request with slot number `slot`
};

struct Record {
    Kind kind;
    uint8_t rmw, item;
    uint8_t short_pieces;  // whether the pieces of a long payload are those of staging.hpp
    uint32_t slot;
    uint64_t offset;
    uint64_t bytes;  // of the payload in the packet, or of the separate messages
};
static_assert(sizeof(Record) == 24);

struct PacketHeader {
    int32_t from;
    uint32_t used;      // bytes of records
    uint64_t number;    // of a request packet, counted from 1; 0: an answer packet
    uint64_t complete;  // acknowledges the receiver's request packets up to this number
    uint64_t wants_reply;  // whether the sender asks for an acknowledgement of this packet
};

constexpr size_t PACKET = 16 << 10;
constexpr size_t EAGER = 8 << 10;  // longer payloads are separate messages
constexpr uint64_t WINDOW = 64;     // maximum of unacknowledged request packets to one PE

struct Packet {
    PacketHeader header;
    char records[PACKET - sizeof(PacketHeader)];
    MpiHandle request;

    size_t bytes() const { return sizeof(PacketHeader) + header.used; }

    static size_t room_for(size_t payload) { return sizeof(Record) + (payload + 7) / 8 * 8; }
    bool has_room(size_t payload) const { return header.used + room_for(payload) <= sizeof records; }

    // Appends a record and returns the address for its payload.
    char *add(const Record &record, size_t payload) {
        char *at = records + header.used;
        std::memcpy(at, &record, sizeof record);
        header.used += static_cast<uint32_t>(room_for(payload));
        return at + sizeof record;
    }
};

}  // namespace ishmem
