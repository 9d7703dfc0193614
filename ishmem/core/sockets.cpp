#include "sockets.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>

#include "packets.hpp"

namespace ishmem {
namespace {

constexpr size_t LONGEST = size_t{1} << 30;

struct Header {
    uint64_t bytes;
    int32_t tag;
    uint32_t is_packet;
};

struct Operation {
    char *at;
    Header header;
    bool done = false, gone = false;
};

struct Connection {
    int socket = -1;
    std::deque<Operation *> out;
    size_t sent = 0;  // of the first one, header included
    Header header;    // of what arrives
    size_t got = 0;   // of that, header included
    char *into = nullptr;
    Operation *receiving = nullptr;  // the payload that is asked for; null: it goes to `buffer`
    std::vector<char> buffer;
    std::deque<Operation *> wanted;  // payloads
    std::deque<std::pair<int, std::vector<char>>> early;  // payloads that have arrived before they are asked for, with tags
};

struct Sockets {
    std::vector<Connection> peers;
    std::deque<Operation *> packets;  // receives of packets of any PE
    int events = epoll_create1(EPOLL_CLOEXEC);
    MpiHandle payloads = 0;
};

std::unique_ptr<Sockets> all;

void end(Connection &peer) {
    if (peer.socket < 0) return;
    close(peer.socket);  // and with it its place in `events`
    peer.socket = -1;
    for (Operation *each : peer.out) each->done = true;
    peer.out.clear();
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void send_on(Connection &peer) {
    while (peer.socket >= 0 && !peer.out.empty()) {
        Operation &first = *peer.out.front();
        const size_t in_header = std::min(peer.sent, sizeof first.header), in_bytes = peer.sent - in_header;
        iovec parts[] = {{reinterpret_cast<char *>(&first.header) + in_header, sizeof first.header - in_header}, {first.at + in_bytes, first.header.bytes - in_bytes}};
        msghdr message{};
        message.msg_iov = parts, message.msg_iovlen = 2;
        const ssize_t n = sendmsg(peer.socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && would_block()) return;
        if (n < 0) return end(peer);
        peer.sent += static_cast<size_t>(n);
        if (peer.sent < sizeof first.header + first.header.bytes) continue;
        peer.sent = 0;
        first.done = true;
        peer.out.pop_front();
    }
}

// Takes the oldest receive of a payload with a tag.
Operation *wanted(Connection &peer, int tag) {
    const auto found = std::find_if(peer.wanted.begin(), peer.wanted.end(), [=](Operation *each) { return each->header.tag == tag; });
    if (found == peer.wanted.end()) return nullptr;
    Operation *operation = *found;
    peer.wanted.erase(found);
    return operation;
}

// Decides where the bytes behind a header go.
void place(Connection &peer) {
    peer.receiving = peer.header.is_packet ? nullptr : wanted(peer, peer.header.tag);
    if (peer.header.bytes > (peer.receiving ? peer.receiving->header.bytes : peer.header.is_packet ? PACKET : LONGEST)) return end(peer);
    if (!peer.receiving) peer.buffer.resize(peer.header.bytes);
    peer.into = peer.receiving ? peer.receiving->at : peer.buffer.data();
}

// Gives a whole message to who has asked for it; false when a packet has to wait.
bool deliver(Connection &peer) {
    Operation *to = peer.receiving;
    if (peer.header.is_packet) {
        if (all->packets.empty()) return false;
        to = all->packets.front();
        all->packets.pop_front();
    } else if (!to) {
        to = wanted(peer, peer.header.tag);
    }
    if (!to) peer.early.emplace_back(peer.header.tag, std::move(peer.buffer));
    else if (!peer.receiving) std::memcpy(to->at, peer.buffer.data(), peer.header.bytes);
    if (to) to->done = true;
    peer.receiving = nullptr, peer.got = 0;
    return true;
}

size_t awaited(const Connection &peer) { return sizeof(Header) + (peer.got < sizeof(Header) ? 0 : peer.header.bytes); }

bool is_whole(const Connection &peer) { return peer.got >= sizeof(Header) && peer.got == awaited(peer); }

void receive_from(Connection &peer) {
    while (peer.socket >= 0) {
        if (is_whole(peer)) {
            if (!deliver(peer)) return;
            continue;
        }
        const size_t whole = awaited(peer);
        char *to = peer.got < sizeof(Header) ? reinterpret_cast<char *>(&peer.header) + peer.got : peer.into + (peer.got - sizeof(Header));
        const ssize_t n = recv(peer.socket, to, whole - peer.got, MSG_DONTWAIT);
        if (n < 0 && would_block()) return;
        if (n <= 0) return end(peer);
        peer.got += static_cast<size_t>(n);
        if (peer.got == sizeof(Header)) place(peer);
    }
}

void progress() {
    epoll_event ready[64];
    const int count = epoll_wait(all->events, ready, 64, 0);
    for (int i = 0; i < count; ++i) receive_from(all->peers[ready[i].data.u32]);
    for (Connection &peer : all->peers) {
        if (is_whole(peer)) receive_from(peer);  // it had to wait, and nothing may come behind it
        send_on(peer);
    }
}

MpiHandle handle_of(Operation *operation) { return reinterpret_cast<MpiHandle>(operation); }

int start_send(const void *from, int bytes, MpiHandle, int pe, int tag, MpiHandle communicator, MpiHandle *request) {
    Connection &peer = all->peers[static_cast<size_t>(pe)];
    const bool is_packet = communicator != all->payloads;
    auto *operation = new Operation{static_cast<char *>(const_cast<void *>(from)), {static_cast<uint64_t>(bytes), tag, is_packet}, peer.socket < 0};
    *request = handle_of(operation);
    if (operation->done) return 0;
    peer.out.push_back(operation);
    send_on(peer);
    return 0;
}

int start_receive(void *into, int bytes, MpiHandle, int pe, int tag, MpiHandle communicator, MpiHandle *request) {
    const bool is_packet = communicator != all->payloads;
    auto *operation = new Operation{static_cast<char *>(into), {static_cast<uint64_t>(bytes), tag, is_packet}};
    *request = handle_of(operation);
    if (is_packet) return all->packets.push_back(operation), 0;
    Connection &peer = all->peers[static_cast<size_t>(pe)];
    const auto found = std::find_if(peer.early.begin(), peer.early.end(), [=](const auto &each) { return each.first == tag; });
    if (found == peer.early.end()) return peer.wanted.push_back(operation), 0;
    std::memcpy(into, found->second.data(), found->second.size());
    peer.early.erase(found);
    operation->done = true;
    return 0;
}

// The engine tests the oldest receive of a packet first of all in each round: then all connections advance.
int test(MpiHandle *request, int *done, void *) {
    auto *operation = reinterpret_cast<Operation *>(*request);
    if (!operation->done && !all->packets.empty() && operation == all->packets.front()) progress();
    *done = operation->done;
    if (!operation->done) return 0;
    const bool gone = operation->gone;
    delete operation;
    *request = 0;
    return gone ? GONE : 0;
}

}  // namespace

Mpi open_sockets(const std::vector<int> &sockets, MpiHandle payloads) {
    all = std::make_unique<Sockets>();
    all->payloads = payloads;
    all->peers.resize(sockets.size());
    for (size_t pe = 0; pe < sockets.size(); ++pe) {
        all->peers[pe].socket = sockets[pe];
        epoll_event event{};
        event.events = EPOLLIN, event.data.u32 = static_cast<uint32_t>(pe);
        if (sockets[pe] >= 0) epoll_ctl(all->events, EPOLL_CTL_ADD, sockets[pe], &event);
    }
    return {start_send, start_receive, test, [](MpiHandle *) { return 0; }, [](MpiHandle *, void *) { return 0; }};
}

void drop_socket(int pe) {
    Connection &peer = all->peers[static_cast<size_t>(pe)];
    end(peer);
    if (peer.receiving) peer.wanted.push_back(peer.receiving);
    for (Operation *each : peer.wanted) each->done = each->gone = true;
    peer.wanted.clear();
    peer.early.clear();
    peer.receiving = nullptr;
}

void close_sockets() {
    for (Connection &peer : all->peers) end(peer);
    close(all->events);
    all.reset();
}

}  // namespace ishmem
