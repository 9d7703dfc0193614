// What travels between the engines of two PEs: packets of records. See engine.hpp.
#pragma once
#include <cstring>

#include "mpi_table.hpp"

namespace ishmem {

enum class Kind : uint8_t {
    Put,       // the payload goes to `place`
    PutLong,   // `bytes` follow as messages of their own, with tag `slot`
    Get,       // answered by a Reply
    GetLong,   // answered by `bytes` as messages of their own, with tag `slot`
    Atomic,    // payload: value, condition; answered by a Reply
    Update,    // as Atomic, without an answer
    Order,     // what comes after waits until the long payloads before it have arrived
    Reply,     // of the request `slot`
};

struct Record {
    Kind kind;
    uint8_t rmw, item;
    uint8_t unused;
    uint32_t slot;
    uint64_t place;
    uint64_t bytes;  // of the payload, or of what follows
};
static_assert(sizeof(Record) == 24);

struct PacketHeader {
    int32_t from;
    uint32_t used;      // bytes of records
    uint64_t number;    // of a packet of requests, from 1 on; 0: a packet of answers
    uint64_t complete;  // requests of the receiver up to this packet are complete at the sender
    uint64_t wants_reply;  // whether the sender waits to hear that this packet is complete
};

constexpr size_t PACKET = 16 << 10;
constexpr size_t EAGER = 8 << 10;  // longer payloads are messages of their own
constexpr uint64_t WINDOW = 64;     // packets of requests to one PE that are not complete, at most

struct Packet {
    PacketHeader header;
    char records[PACKET - sizeof(PacketHeader)];
    MpiHandle request;

    size_t bytes() const { return sizeof(PacketHeader) + header.used; }

    static size_t room_for(size_t payload) { return sizeof(Record) + (payload + 7) / 8 * 8; }
    bool has_room(size_t payload) const { return header.used + room_for(payload) <= sizeof records; }

    // Adds a record and returns where its payload goes.
    char *add(const Record &record, size_t payload) {
        char *at = records + header.used;
        std::memcpy(at, &record, sizeof record);
        header.used += static_cast<uint32_t>(room_for(payload));
        return at + sizeof record;
    }
};

}  // namespace ishmem
