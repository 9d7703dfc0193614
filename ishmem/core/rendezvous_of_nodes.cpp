// The rendezvous of a team that spans nodes. The leaders, which are the first members of the nodes, send for their nodes.
//
// The members of a node publish their slots for each other. The leaders combine digests of them in pairs (`Pairs`,
// exchange.hpp): what must be equal on all PEs, whether it has been so far, and whether the arrays are in one place. The
// rounds and partners are the same for all calls, so calls that differ meet, too. With a digest travels what somebody
// needs of a small message:
//   FromRoot   the block of the root, from a node that has it to one that has not
//   FromAll    the blocks of all members, in the order of the members; a node sends those of the nodes behind it
//   Sum        the sum over the nodes behind it; lower nodes come first, so all PEs get the same bits
//   Slots      the slots themselves, where counts differ from PE to PE
// If the calls differ, or the places of arrays that other nodes access, the leaders exchange all slots in a second pass.
// Only then does a PE read slots of other nodes, which arrive in mirrors.
//
// What arrives, and the digests, are in the *meeting* of the team on each node, which its members share. All of them read
// what arrives and combine it, so none waits for its leader. There are two meetings, and calls alternate: who sends in
// call s + 2 has heard in call s + 1 of all PEs, which have then finished with call s.
// Model: tests/models/meeting.pml.
#include <cstring>

#include "exchange.hpp"

namespace ishmem::TRANSPORT {
namespace {

// What a leader knows of the calls of some nodes.
struct Digest {
    uint64_t signature, extra, dest, source, differs;

    void add(const Digest &other, bool own_extra) {
        if (signature != other.signature || (extra != other.extra && !own_extra)) differs |= DifferentCalls;
        if (dest != other.dest || source != other.source) differs |= DifferentPlaces;
        differs |= other.differs;
    }
};
static_assert(sizeof(uint64_t) + sizeof(Digest) <= 64);

class Meeting {
 public:
    explicit Meeting(Call &call) : call_(call), team_(*call.team), me_(team_.node), pairs_(static_cast<int>(team_.groups.size())) {}

    Outcome run() {
        outcome_ = await_slots(call_, near(), FROM_NODE);
        if (outcome_ != Satisfied) return outcome_;
        for (int member : near()) note(member);
        if (carried(call_) == Carried::Sum) sum_near();
        pass(0, carried(call_));
        const bool second = differs();
        if (second) pass(1, Carried::Slots);
        if (outcome_ != Satisfied) return outcome_;
        call_.has_slots = second || carried(call_) == Carried::Slots;
        call_.differences = digest_.differs;
        return puts_.await();  // the next call but one writes where long ones come from
    }

 private:
    const std::vector<int> &near() const { return team_.groups[static_cast<size_t>(me_)]; }
    bool good() const { return outcome_ == Satisfied; }

    // Whether the calls differ so that slots of other nodes are needed.
    bool differs() const {
        const bool accesses = call_.algorithm != InSlot && carried(call_) != Carried::Slots;
        return digest_.differs & DifferentCalls || (accesses && digest_.differs & DifferentPlaces);
    }

    void note(int member) {
        const Header *slot = call_.header(member);
        const Digest one = {slot->signature, slot->extra, slot->dest, slot->source, 0};
        if (member == near().front()) digest_ = one;
        else digest_.add(one, traits(call_.routine).own_counts);
    }

    void sum_near() {
        call_.sum.resize(call_.bytes);
        char *to = call_.sum.data();
        const Elements elements = {combine_of(call_.routine, call_.type), call_.item, static_cast<int>(near().size())};
        const auto put = [&](size_t at, const char *sum, size_t bytes) { std::memcpy(to + at, sum, bytes); };
        reduce_blocks(elements, 0, call_.bytes, [&](int i) { return call_.data(near()[static_cast<size_t>(i)]); }, put);
    }

    // The steps of the leader of this node. The other members take, too, but send nothing.
    void pass(int number, Carried what) {
        number_ = number, what_ = what;
        for (const PairStep &step : pairs_.steps_of(me_)) {
            if (step.sends) send(step);
            if (step.takes) take(step);
            end_stage(1);
        }
    }

    // Sends what is carried of the nodes of a step, and the digest.
    void send(const PairStep &step) {
        if (!good() || team_.index) return;
        const int to = step.partner, first = step.first, last = step.last;
        const int pe = team_.leaders[static_cast<size_t>(to)];
        const auto far = [&](size_t offset) { return far_address(pe, call_.meeting_place(offset)); };
        bool sent = true;
        switch (what_) {
            case Carried::Nothing: break;
            case Carried::FromRoot:
                if (has_root(first, last) && !has_root(to, to + 1)) sent = puts_.start(far(TABLE), call_.meeting(TABLE), published(call_));
                break;
            case Carried::FromAll: {
                const size_t from = before(first), bytes = before(last) - from;
                if (bytes) sent = puts_.start(far(TABLE) + from, call_.meeting(TABLE) + from, bytes);
                break;
            }
            case Carried::Sum:
                if (call_.bytes) sent = puts_.start(far(buffer_of(step.number)), call_.sum.data(), call_.bytes);
                break;
            case Carried::Slots:
                for (int node = first; node < last && sent; ++node)
                    for (int member : team_.groups[static_cast<size_t>(node)])
                        if (node != to && sent) sent = forward_slot(member, pe);
        }
        char *line = far(line_of(step.number));
        sent = sent && write_before_flag(line + sizeof(uint64_t), &digest_, sizeof digest_) && store_flag(reinterpret_cast<uint64_t *>(line), call_.sequence);
        if (!sent) outcome_ = PyErr_Occurred() ? Interrupted : Lost;
    }

    // Takes what another leader has sent in a step.
    void take(const PairStep &step) {
        if (!good()) return;
        const char *line = call_.meeting(line_of(step.number));
        outcome_ = await_line(call_, reinterpret_cast<const uint64_t *>(line));
        if (!good() || !MOVES_DATA) return;
        Digest theirs;
        std::memcpy(&theirs, line + sizeof(uint64_t), sizeof theirs);
        digest_.add(theirs, traits(call_.routine).own_counts);
        if (what_ != Carried::Sum) return;
        char *sum = call_.sum.data(), *other = call_.meeting(buffer_of(step.number));
        if (step.is_whole) std::memcpy(sum, other, call_.bytes);
        else combine_of(call_.routine, call_.type)(sum, step.is_second ? other : sum, step.is_second ? sum : other, call_.count);
    }

    size_t line_of(int step) const { return (static_cast<size_t>(number_) * MEETING_LINES + static_cast<size_t>(step)) * 64; }
    static size_t buffer_of(int step) { return SUMS + static_cast<size_t>(step) * MEETING_BUFFER; }

    bool has_root(int first, int last) const {
        for (int node = first; node < last; ++node)
            for (int member : team_.groups[static_cast<size_t>(node)])
                if (member == call_.root) return true;
        return false;
    }

    // Bytes of the blocks of the members of the nodes before a node.
    size_t before(int node) const {
        const bool end = node == pairs_.nodes;
        return published(call_) * static_cast<size_t>(end ? team_.size : team_.groups[static_cast<size_t>(node)].front());
    }

    // Writes a part of a member's ring into its mirror on the node of a leader.
    bool mirror(int member, const void *part, size_t bytes, int pe) {
        return remote_put_uncounted(far_address(pe, call_.mirror_of(member, part)), part, bytes);
    }

    bool forward_slot(int member, int pe) {
        const Header *slot = call_.header(member);
        if (MOVES_DATA && slot->sequence != call_.sequence) return true;  // of a node that makes another call; see the second pass
        const uint64_t *payload = call_.payload_bytes(member);
        return mirror(member, &slot->signature, sizeof *slot - sizeof slot->sequence + *payload, pe) &&
               mirror(member, payload, sizeof *payload, pe) && mirror(member, &slot->sequence, sizeof slot->sequence, pe);
    }

    Call &call_;
    const Team &team_;
    const int me_;
    const Pairs pairs_;
    Digest digest_{};
    int number_ = 0;  // of the pass
    Carried what_ = Carried::Nothing;
    Puts puts_;
    Outcome outcome_ = Satisfied;
};

}  // namespace

Outcome meet(Call &call) { return Meeting(call).run(); }

}  // namespace ishmem::TRANSPORT
