// The engine's packets, credit and progress.
#include "network_engine.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <stdexcept>

#include "heap.hpp"
#include "sockets.hpp"

namespace ishmem {
namespace {

constexpr size_t RECEIVES = 32;   // posted at the same time
constexpr uint64_t TELL = 16;     // packets after which the target acknowledges unasked
constexpr int ANY_TAG_OF_PACKETS = 1;

NetworkEngine *the_engine = nullptr;

void sleep_for(long microseconds) {
    const timespec time = {0, microseconds * 1000};
    nanosleep(&time, nullptr);
}

}  // namespace

NetworkEngine *network_engine() { return the_engine; }

void start_engine(const NetworkEngineSetup &setup) {
    if (!the_engine) the_engine = new NetworkEngine(setup, heap().me, heap().n_pes);
}

void stop_engine() {
    delete the_engine;
    the_engine = nullptr;
}

NetworkEngine::NetworkEngine(const NetworkEngineSetup &setup, int me, int n_pes) : setup_(setup), me_(me), peers_(static_cast<size_t>(n_pes)), staging_(setup.staging) {
    if (!setup_.sockets.empty()) mpi_ = open_sockets(setup_.sockets, setup_.payloads);
    else if (const char *missing = look_up(mpi_, setup_.library.c_str())) throw std::runtime_error(std::string("the MPI library has no ") + missing);
    for (size_t i = 0; i < RECEIVES; ++i) {
        receives_.push_back(fresh());
        post(static_cast<int>(i));
    }
    thread_ = std::thread([this] { run(); });
}

NetworkEngine::~NetworkEngine() {
    stop_ = true;
    thread_.join();
    const bool broken = problem_ || heap().status.has_lost();
    for (Packet *packet : receives_) {
        if (broken) {  // MPI may block; the packets stay allocated
            sending_.push_back(packet);
            continue;
        }
        alignas(8) char status[64];
        mpi_.Cancel(&packet->request);
        mpi_.Wait(&packet->request, status);
    }
    for (auto &packet : packets_)  // MPI may still read packets that a lost PE did not receive
        if (std::find(sending_.begin(), sending_.end(), packet.get()) != sending_.end()) packet.release();
    if (!setup_.sockets.empty()) close_sockets();
}

void NetworkEngine::check(int code, int pe) {
    if (!code) return;
    problem_ = code;
    if (pe >= 0) heap().status.lost = pe;
}

bool NetworkEngine::test(MpiHandle &request) {
    int done = 0;
    alignas(8) char status[64];
    const int code = mpi_.Test(&request, &done, status);
    if (code != GONE) check(code, -1);
    return done;
}

Packet *NetworkEngine::fresh() {
    if (free_packets_.empty()) {
        packets_.push_back(std::make_unique<Packet>());
        free_packets_.push_back(packets_.back().get());
    }
    Packet *packet = free_packets_.back();
    free_packets_.pop_back();
    packet->header = PacketHeader{me_, 0, 0, 0, 0};
    packet->request = 0;
    return packet;
}

void NetworkEngine::post(int index) {
    Packet *packet = receives_[static_cast<size_t>(index)];
    packet->request = 0;
    check(mpi_.Irecv(packet, static_cast<int>(PACKET), setup_.byte, setup_.any_source, ANY_TAG_OF_PACKETS, setup_.requests, &packet->request), -1);
}

void NetworkEngine::send(Packet *packet, int pe) {
    Peer &peer = peers_[static_cast<size_t>(pe)];
    packet->header.complete = peer.told = complete_from(pe);
    check(mpi_.Isend(packet, static_cast<int>(packet->bytes()), setup_.byte, pe, ANY_TAG_OF_PACKETS, setup_.requests, &packet->request), pe);
    sending_.push_back(packet);
}

// Marks a PE as one that may have something to be sent.
void NetworkEngine::list(int pe) {
    Peer &peer = peers_[static_cast<size_t>(pe)];
    if (!peer.listed) busy_.push_back(pe);
    peer.listed = true;
}

// Returns the number of the last packet from a PE that is complete here together with all packets before it.
uint64_t NetworkEngine::complete_from(int pe) const {
    const Peer &peer = peers_[static_cast<size_t>(pe)];
    uint64_t complete = peer.handled;
    if (peer.arriving)
        for (const Transfer &each : transfers_)
            if (each.pe == pe) complete = std::min(complete, each.packet - 1);
    return complete;
}

// Sends the open packets for a PE; false when one has to wait for credit.
bool NetworkEngine::flush(int pe) {
    Peer &peer = peers_[static_cast<size_t>(pe)];
    if (peer.lost) return true;
    if (peer.asks && !peer.requests && peer.asked < peer.sent) peer.requests = fresh();
    const bool credit = peer.sent - peer.done < WINDOW;
    if (peer.requests && credit) {
        peer.requests->header.number = ++peer.sent;
        peer.requests->header.wants_reply = peer.asks;
        count_request(peer);
        if (peer.asks) peer.asked = peer.sent;
        peer.asks = false;
        send(peer.requests, pe);
        peer.requests = nullptr;
    }
    const uint64_t complete = complete_from(pe);
    const bool due = (peer.wanted > peer.told && complete >= peer.wanted) || complete >= peer.told + TELL;
    if (peer.answers || due) {
        ++traffic_.answers;
        send(peer.answers ? peer.answers : fresh(), pe);
        peer.answers = nullptr;
    }
    return !peer.requests;
}

void NetworkEngine::count_request(const Peer &peer) {
    ++traffic_.requests;
    if (!peer.asks) return;
    ++traffic_.asking;
    if (!awaited_) ++traffic_.round_trips;
    awaited_ += !peer.is_awaited();
}

Traffic NetworkEngine::traffic() {
    const std::lock_guard<std::mutex> lock(mutex_);
    traffic_.rounds = rounds_.load(std::memory_order_relaxed);
    return traffic_;
}

void NetworkEngine::flush_all() {
    size_t kept = 0;
    for (size_t i = 0; i < busy_.size(); ++i) {
        const int pe = busy_[i];
        if (flush(pe)) peers_[static_cast<size_t>(pe)].listed = false;
        else busy_[kept++] = pe;
    }
    busy_.resize(kept);
}

// Receives packets in the order of arrival: only the oldest receive is tested.
bool NetworkEngine::receive() {
    size_t taken = 0;
    for (; taken < RECEIVES && test(receives_[next_receive_]->request); ++taken) {
        const size_t now = next_receive_;
        next_receive_ = (now + 1) % RECEIVES;
        take(*receives_[now]);
        post(static_cast<int>(now));
    }
    return taken;
}

bool NetworkEngine::test_sends() {
    size_t kept = 0;
    for (Packet *packet : sending_) {
        if (test(packet->request)) free_packets_.push_back(packet);
        else sending_[kept++] = packet;
    }
    const bool any = kept != sending_.size();
    sending_.resize(kept);
    return any;
}

bool NetworkEngine::test_transfers() {
    std::vector<Transfer> ended;
    size_t kept = 0;
    for (size_t i = 0; i < transfers_.size(); ++i) {
        if (test(transfers_[i].request)) ended.push_back(transfers_[i]);
        else transfers_[kept++] = transfers_[i];
    }
    transfers_.resize(kept);
    for (const Transfer &each : ended) {
        if (each.stage >= 0) staging_.free(each.stage);
        if (each.group) {
            --longs_;
            end_one(each.group);
        }
        if (each.pe < 0) continue;
        if (--peers_[static_cast<size_t>(each.pe)].arriving == 0) serve_deferred(each.pe);
        list(each.pe);
    }
    return !ended.empty();
}

// Sends the staged pieces that have been copied, and has the next ones copied.
bool NetworkEngine::stage() {
    Staging::Piece piece;
    const char *at;
    bool any = false;
    for (; staging_.take(piece, at); any = true) {
        check(mpi_.Isend(at, piece.bytes, setup_.byte, piece.pe, piece.tag, setup_.payloads, &piece.transfer.request), piece.pe);
        transfers_.push_back(piece.transfer);
    }
    return staging_.copy() || any;
}

bool NetworkEngine::round() {
    bool any = receive();
    any |= test_sends();
    any |= !transfers_.empty() && test_transfers();
    any |= !staging_.empty() && stage();
    flush_all();
    moves_.store(!transfers_.empty() || !staging_.empty(), std::memory_order_relaxed);
    return any;
}

bool NetworkEngine::drive() {
    bool (*more)() = also.load();
    const bool any = more && more();
    return advance() || any;
}

bool NetworkEngine::advance() {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    rounds_.fetch_add(1, std::memory_order_relaxed);
    return round();
}

bool NetworkEngine::drain() {
    const std::lock_guard<std::mutex> lock(mutex_);
    round();
    return sending_.empty() && transfers_.empty() && staging_.empty() && busy_.empty();
}

// Polls, then sleeps with a growing interval while nothing happens. Each poll without progress yields: with few cores, a
// waiting kernel and the engines of two PEs share them, and the next message comes from a thread that has to run first.
// While other threads drive the engine, it only looks from time to time whether they still do: with few cores each
// wake-up takes a time slice from them.
void NetworkEngine::run() {
    constexpr int BUSY = 200;
    constexpr long WHILE_DRIVEN = 500;  // no longer: a thread that drove may be waiting for the GIL now
    prctl(PR_SET_TIMERSLACK, 1000);
    uint64_t seen = 0;
    for (int idle = 0; !stop_;) {
        const uint64_t rounds = rounds_.load(std::memory_order_relaxed);
        if (rounds != seen) {
            seen = rounds;
            idle = BUSY;
            sleep_for(WHILE_DRIVEN);
            continue;
        }
        idle = drive() ? 0 : idle + 1;
        seen = rounds_.load(std::memory_order_relaxed);
        if (idle > BUSY) sleep_for(moves() ? 20L : 20L << std::min((idle - BUSY) / 50, 5));
        else if (idle) sched_yield();
    }
}

}  // namespace ishmem
