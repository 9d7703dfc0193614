#include "reach.hpp"

#include "late_delivery.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

class NetworkReach final : public Reach {
 public:
    bool put(const Copy &copy, const Caller &caller) const override {
        return remote_put(copy.to, copy.from, copy.bytes, caller.local, caller.nbi);
    }
    bool get(const Copy &copy, const Caller &caller) const override {
        return remote_get(copy.to, copy.from, copy.bytes, caller.local, caller.nbi);
    }
    bool put_row(char *at, const char *from, size_t bytes, size_t, const Steps &steps) const override {
        return each_block(at, from, steps, [=](char *to, const char *of) { return remote_put(to, of, bytes); });
    }
    bool atomic(char *at, int rmw, size_t item, uint64_t value) const override { return remote_update(at, rmw, item, value); }
    bool fetching_atomic(char *at, int rmw, size_t item, uint64_t value, uint64_t cond, uint64_t &old) const override {
        return remote_atomic(at, rmw, item, value, cond, old);
    }
};

// What has a result is done at once, at the address that late_delivery.hpp returns.
class LateReach final : public Reach {
 public:
    bool put(const Copy &copy, const Caller &caller) const override {
        const std::string where = late->where(caller.routine);
        if (caller.nbi) late->put_nbi(copy.to, const_cast<char *>(copy.from), copy.bytes, caller.local, nullptr, where);
        else late->put(copy.to, copy.from, copy.bytes, copy.item, where);
        return true;
    }
    bool get(const Copy &copy, const Caller &caller) const override {
        if (caller.nbi) {
            late->get_nbi(copy.to, const_cast<char *>(copy.from), copy.bytes, caller.local, nullptr, late->where(caller.routine));
            return true;
        }
        const char *from = source(copy.from, copy.bytes, caller.routine);
        if (is_far(from)) return remote_get(copy.to, from, copy.bytes, caller.local);
        move_block(copy.to, from, copy.bytes, copy.item);
        return true;
    }
    bool put_row(char *at, const char *from, size_t bytes, size_t item, const Steps &steps) const override {
        late->put_blocks(at, from, bytes, item, steps, late->where("put with steps"));
        return true;
    }
    bool atomic(char *at, int rmw, size_t item, uint64_t value) const override {
        late->update(at, rmw, item, value, late->where("atomic"));
        return true;
    }
    bool fetching_atomic(char *at, int rmw, size_t item, uint64_t value, uint64_t cond, uint64_t &old) const override {
        char *target = late->fetch(at, rmw);
        return is_far(target) ? remote_atomic(target, rmw, item, value, cond, old) : update_element(rmw, target, item, value, cond, &old);
    }
    const char *source(const char *at, size_t bytes, const char *routine) const override { return late->read(at, bytes, routine); }
    uint64_t mark() const override { return late->mark(); }
    bool signal(char *at, int rmw, size_t item, uint64_t value, uint64_t since) const override {
        late->signal(at, rmw, item, value, since, late->where("put_signal"));
        return true;
    }
};

const NetworkReach network_reach;
const LateReach late_reach;

}  // namespace

const Reach &by_network = network_reach;
const Reach &by_late_delivery = late_reach;

}  // namespace ishmem
