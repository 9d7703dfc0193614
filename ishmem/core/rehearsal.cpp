#include "transport.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings.hpp"
#include "collectives.hpp"
#include "packets.hpp"

namespace ishmem {

Rehearsal::Rehearsal(size_t n_pes, const char *heaps, size_t heap_bytes, size_t width)
    : n_pes_(n_pes), heaps_(heaps), heap_bytes_(heap_bytes), width_(width) {}

void Rehearsal::begin(int me, size_t place) {
    me_ = me, place_ = place, phase_ = stage_ = 0, acted_ = false;
    requests_.assign(n_pes_, {});
    answers_.assign(n_pes_, {});
}

int64_t *Rehearsal::of(int pe) {
    const size_t at = (phase_ * n_pes_ + static_cast<size_t>(pe)) * COUNTS;
    if (counts_.size() < (phase_ + 1) * n_pes_ * COUNTS) counts_.resize((phase_ + 1) * n_pes_ * COUNTS);
    return &counts_[at];
}

void Rehearsal::message(int from, int to, size_t bytes) {
    of(from)[MessagesOut] += 1;
    of(to)[MessagesIn] += 1;
    carry(from, to, bytes);
}

void Rehearsal::carry(int from, int to, size_t bytes) {
    const std::vector<int> &nodes = heap().nodes;
    const int half = (nodes.back() + 1) / 2;  // nodes are numbered in the order of their first PEs
    const auto is_first = [&](int pe) { return nodes[static_cast<size_t>(pe)] < half; };
    of(from)[BytesOut] += static_cast<int64_t>(bytes);
    of(to)[BytesIn] += static_cast<int64_t>(bytes);
    if (is_first(from) != is_first(to)) of(from)[BytesAcross] += static_cast<int64_t>(bytes);
}

// The engine packs records for one PE into one packet, which is sent when the PE waits.
void Rehearsal::record(std::vector<Packet> &packets, int pe, bool out, size_t bytes) {
    acted_ = true;
    Packet &packet = packets[static_cast<size_t>(pe)];
    const int from = out ? me_ : pe, to = out ? pe : me_;
    const size_t room = ishmem::Packet::room_for(bytes);
    if (packet.phase != phase_ || packet.used + room > PACKET) {
        packet = {phase_, sizeof(PacketHeader)};
        message(from, to, sizeof(PacketHeader));
    }
    packet.used += room;
    carry(from, to, room);
}

void Rehearsal::put(int pe, size_t bytes) {
    record(requests_, pe, true, bytes <= EAGER ? bytes : 0);
    if (bytes > EAGER) message(me_, pe, bytes);
}

void Rehearsal::get(int pe, size_t bytes) {
    record(requests_, pe, true, 0);
    if (bytes <= EAGER) record(answers_, pe, false, bytes);
    else message(pe, me_, bytes);
}

bool Rehearsal::is_peer(const char *address) const {
    const size_t offset = static_cast<size_t>(address - heaps_);
    return address >= heaps_ && offset < width_ * heap_bytes_ && offset / heap_bytes_ != place_;
}

void Rehearsal::copy(const char *to, const char *from, size_t bytes) {
    if (!bytes || (!is_peer(to) && !is_peer(from))) return;
    acted_ = true;
    of(me_)[NearStores] += 1, of(me_)[NearBytes] += static_cast<int64_t>(bytes);
}

// What barriers and collectives call to reach other PEs; data do not move.
namespace rehearsed {

bool remote_put_uncounted(char *far, const void *, size_t bytes) { return rehearsal->put(far_pe(far), bytes), true; }
bool remote_put(char *far, const char *, size_t bytes, PyObject *, bool) { return rehearsal->put(far_pe(far), bytes), true; }
bool remote_get(char *, const char *far, size_t bytes, PyObject *, bool) { return rehearsal->get(far_pe(far), bytes), true; }
Outcome remote_quiet() { return Satisfied; }
Outcome await_word(const Team &, const uint64_t *, uint64_t, size_t step) { return rehearsal->reach(step), Satisfied; }

bool move_by_device(const Call &) { return false; }  // no algorithm table of a rehearsal asks for it

Gets::~Gets() = default;
bool Gets::start(char *into, const char *from, size_t bytes) { return copy_any(into, from, bytes); }
Outcome Gets::await() { return rehearsal->wait(), Satisfied; }

Puts::~Puts() = default;
bool Puts::start(char *far, const char *from, size_t bytes) { return remote_put(far, from, bytes); }
Outcome Puts::await() { return Satisfied; }

}  // namespace rehearsed

namespace {

// The heap of a process that acts as one PE after the other. Flags that a PE would await are already set.
class Stage {
 public:
    Stage(const std::vector<int> &nodes, size_t heap_bytes, size_t mirror_bytes, const std::vector<size_t> &flags)
        : nodes_(nodes), heap_bytes_(heap_bytes) {
        for (int node : nodes) {
            if (static_cast<size_t>(node) >= sizes_.size()) sizes_.resize(static_cast<size_t>(node) + 1);
            width_ = std::max(width_, ++sizes_[static_cast<size_t>(node)]);
        }
        heaps_ = reserve(width_ * heap_bytes);
        mirrors_ = reserve(mirror_bytes_ = mirror_bytes);
        for (size_t place = 0; place < width_; ++place)
            for (size_t at = 0; at + 1 < flags.size(); at += 2) std::memset(heaps_ + place * heap_bytes + flags[at], 0xff, flags[at + 1]);
        Heap &h = heap();
        h.n_pes = static_cast<int>(nodes.size());
        h.size = heap_bytes;
        h.mapped.assign(nodes.size(), nullptr);
        h.nodes = nodes;
        h.regions.mirrors = mirrors_;
        h.regions.mirror_bytes = mirror_bytes;
        landings_ = h.regions.landings = reserve(h.regions.landing_bytes = landing_bytes());
        h.status.left = std::vector<std::atomic<bool>>(nodes.size());
        counter_ = std::make_unique<Rehearsal>(nodes.size(), heaps_, heap_bytes, width_);
        rehearsal = counter_.get();
    }

    ~Stage() {
        rehearsal = nullptr;
        Heap &h = heap();
        h.n_pes = 0;
        h.mapped.clear();
        h.nodes.clear();
        h.regions.mirrors = h.regions.landings = nullptr;
        h.teams[0] = Team{};
        munmap(heaps_, width_ * heap_bytes_);
        munmap(mirrors_, mirror_bytes_);
        munmap(landings_, h.regions.landing_bytes);
    }

    void enter(int me) {
        Heap &h = heap();
        size_t place = 0, own = 0;
        for (size_t pe = 0; pe < nodes_.size(); ++pe) {
            const bool near = nodes_[pe] == nodes_[static_cast<size_t>(me)];
            if (near && static_cast<int>(pe) == me) own = place;
            h.mapped[pe] = near ? heaps_ + place++ * heap_bytes_ : far_address(static_cast<int>(pe), 0);
        }
        h.me = me;
        Team all;
        all.size = h.n_pes;
        h.set_team(0, all, me, 0, nullptr);
        counter_->begin(me, own);
    }

    const std::vector<int64_t> &counts() const { return counter_->counts(); }

 private:
    static char *reserve(size_t bytes) {
        void *memory = mmap(nullptr, std::max<size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return static_cast<char *>(memory);
    }

    const std::vector<int> &nodes_;
    const size_t heap_bytes_;
    std::vector<size_t> sizes_;
    size_t width_ = 0, mirror_bytes_ = 0;
    char *heaps_ = nullptr, *mirrors_ = nullptr, *landings_ = nullptr;
    std::unique_ptr<Rehearsal> counter_;
};

// Runs a call of the world: 8-byte elements, blocks of `bytes`, root 0, arrays at these offsets in the heap. The requests of PEs of
// other nodes are written for the `first` PE of a node only, and stay.
bool rehearse_collective(Routine routine, size_t bytes, uint64_t dest, uint64_t source, bool first) {
    Call call{};
    call.team = &heap().teams[0];
    call.routine = routine;
    call.type = I64;
    call.item = sizeof(int64_t);
    call.bytes = bytes;
    call.count = bytes / call.item;
    call.root = traits(routine).root == Root::None ? -1 : 0;
    call.dest.location = dest;
    call.source.location = source;
    call.dest.view.count = SIZE_MAX;
    call.algorithm = choose(call);
    const uint64_t asked = signature(call), extra = routine == Collect ? call.count : 0, room = SIZE_MAX;
    const bool all = first && carried(call) == Carried::Slots;
    for (int j = 0; j < call.size(); ++j) {  // as the other members have published it
        if (!all && is_far(heap().mapped[static_cast<size_t>(call.team->pe(j))])) continue;
        Header *header = header_at(call.team->pe(j), call.handle, call.team->collectives + 1);
        *header = Header{call.team->collectives + 1, asked, extra, dest, source, {}};
        std::memcpy(header->words, &room, sizeof room);
        uint64_t *flags = reinterpret_cast<uint64_t *>(ring(call.team->pe(j), call.handle));
        std::memset(flags, 0xff, LINE);
        flags[PayloadBytes] = flags[PayloadBytes + 1] = 0;
    }
    return enter(call) == Finished;
}

// Runs a routine (-1: the barrier) as each PE and returns the counts as bytes: int64, by phase, PE and Count.
nb::bytes rehearse(const std::vector<int> &nodes, size_t heap_bytes, size_t mirror_bytes, const std::vector<size_t> &flags,
                   int routine, size_t bytes, size_t dest, size_t source) {
    if (heap().n_pes) throw std::runtime_error("this process is a PE; a rehearsal needs one that is not");
    Stage stage(nodes, heap_bytes, mirror_bytes, flags);
    int entered = 0;  // nodes; all mirrors are used by the first PEs of the first two
    for (int me = 0; me < static_cast<int>(nodes.size()); ++me) {
        stage.enter(me);
        const bool first = entered < 2 && nodes[static_cast<size_t>(me)] == entered;
        entered += first;
        const bool done = routine < 0 ? barrier(0, -1) == Satisfied
                                      : rehearse_collective(static_cast<Routine>(routine), bytes, dest, source, first);
        if (!done) throw std::runtime_error("the rehearsal failed");
    }
    const auto &counts = stage.counts();
    return nb::bytes(reinterpret_cast<const char *>(counts.data()), counts.size() * sizeof(int64_t));
}

// Messages and bytes of puts of these sizes to one PE, which leave together.
std::pair<int64_t, int64_t> rehearse_puts(const std::vector<size_t> &puts) {
    Rehearsal counter(2, nullptr, 0, 0);
    const std::vector<int> nodes = std::exchange(heap().nodes, {0, 1});
    counter.begin(0, 0);
    for (size_t bytes : puts) counter.put(1, bytes);
    heap().nodes = nodes;
    return {counter.counts()[MessagesOut], counter.counts()[BytesOut]};
}

}  // namespace

void bind_rehearsal(nb::module_ &m) {
    m.def("rehearse_puts", &rehearse_puts);
    m.def("rehearse", &rehearse);
    m.attr("COUNTS") = static_cast<int>(COUNTS);
}

}  // namespace ishmem
