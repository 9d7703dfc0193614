// Wait and test for all, any or some of a set of this PE's variables; and a wait that returns the last value read.
#include <cstring>
#include <vector>

#include "polling.hpp"

namespace ishmem {
namespace {

// A set in memory: consecutive variables are `step` bytes apart.
struct Set {
    const char *first;
    size_t step;
    const char *wanted;
    size_t wanted_step;            // 0: all variables are compared with one value
    int how;
    std::vector<int64_t> pending;  // indices of the variables to test, without excluded ones
    int64_t *found;
};

template <class T>
T seen_at(const Set &set, int64_t i) {
    return __atomic_load_n(reinterpret_cast<const T *>(set.first + i * static_cast<int64_t>(set.step)), __ATOMIC_ACQUIRE);
}

template <class T>
bool holds(const Set &set, int64_t i) {
    return compare(seen_at<T>(set, i), set.how, *reinterpret_cast<const T *>(set.wanted + i * static_cast<int64_t>(set.wanted_step)));
}

// A pseudo-random start index, so that no variable of a set is starved. The caller holds the GIL.
size_t turn() {
    static uint64_t state = 0;
    uint64_t mixed = (state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    return mixed ^ mixed >> 31;
}

// Tests the set once. Returns whether the call is complete; `count` is the number of indices written to `found`.
template <class T>
bool look(Set &set, Mode mode, size_t start, int64_t &count) {
    const size_t size = set.pending.size();
    if (mode == Any) {
        for (size_t k = 0; k < size && !count; ++k) {
            const int64_t i = set.pending[(start + k) % size];
            if (holds<T>(set, i)) set.found[count++] = i;
        }
        return count || !size;
    }
    size_t kept = 0;
    for (const int64_t i : set.pending) {
        const bool held = holds<T>(set, i);
        if (mode == Some && held) set.found[count++] = i;
        if (!held) set.pending[kept++] = i;
    }
    if (mode == All) set.pending.resize(kept);
    return mode == All ? !kept : count || !size;
}

template <class T>
PyObject *run(Set &set, Mode mode, bool once, double timeout, Type type) {
    int64_t count = 0;
    const size_t start = mode == Any ? turn() : 0;
    const auto done = [&] { return look<T>(set, mode, start, count); };
    Outcome outcome = done() ? Satisfied : Failed;
    if (outcome == Failed && !once) outcome = poll(done, [] { return heap().status.has_lost(); }, timeout, FROM_NETWORK, 1);
    if (outcome == Interrupted) return nullptr;
    if (outcome == Satisfied || set.pending.empty()) return Py_BuildValue("iLO", static_cast<int>(outcome), static_cast<long long>(count), Py_None);
    const T seen = seen_at<T>(set, set.found[0] = set.pending[0]);  // for the error message
    return Py_BuildValue("iLN", static_cast<int>(outcome), 0LL, load_scalar(&seen, type));
}

// Fills `view`; returns whether it is contiguous host memory with at least `count` elements of `type`.
bool host_array(PyObject *object, Type type, size_t count, View &view) {
    return view_of(object, view) && !view.device && view.type == type && (view.order & 1) && view.count >= count;
}

bool set_of(PyObject *ivars, PyObject *how, PyObject *values, PyObject *ignored, PyObject *found, Set &set, Type &type) {
    View view, wanted, mask, out;
    Shape shape;
    Py_ssize_t compare;
    if (!view_of(ivars, view, &shape) || !is_word(view.type)) return false;
    const Layout layout(view, shape);
    if (layout.axes != 1 || layout.stride[0] < 1) return false;
    if (!integer_of(how, compare) || compare < EQ || compare > LE) return false;
    const size_t count = view.count, step = static_cast<size_t>(layout.stride[0]) * view.item;
    set.first = heap().remote(view, count ? (count - 1) * step + view.item : 0, heap().me);
    if (!set.first || !view_of(values, wanted) || !host_array(values, view.type, 1, wanted)) return false;
    if (wanted.count != 1 && wanted.count != count) return false;
    if (ignored != Py_None && !host_array(ignored, Bool, count, mask)) return false;
    if (!host_array(found, I64, count + 1, out) || !out.writable) return false;
    set.step = step;
    set.wanted = wanted.address;
    set.wanted_step = wanted.count == 1 ? 0 : view.item;
    set.how = static_cast<int>(compare);
    set.found = reinterpret_cast<int64_t *>(out.address);
    for (size_t i = 0; i < count; ++i)
        if (ignored == Py_None || !mask.address[i]) set.pending.push_back(static_cast<int64_t>(i));
    type = view.type;
    return true;
}

template <class Word>
PyObject *wait_seen(const char *at, int how, const uint64_t &value, Type type, double timeout) {
    Word wanted, seen = 0;
    std::memcpy(&wanted, &value, sizeof wanted);
    const auto done = [&] {
        seen = __atomic_load_n(reinterpret_cast<const Word *>(at), __ATOMIC_ACQUIRE);
        return compare(seen, how, wanted);
    };
    const Outcome outcome = done() ? Satisfied : poll(done, [] { return heap().status.has_lost(); }, timeout);
    return outcome == Interrupted ? nullptr : Py_BuildValue("iN", static_cast<int>(outcome), load_scalar(&seen, type));
}

}  // namespace

PyObject *wait_set(PyObject *ivars, PyObject *compare, PyObject *values, PyObject *ignored, PyObject *found,
                   int mode, bool once, double timeout) {
    Set set;
    Type type;
    if (!set_of(ivars, compare, values, ignored, found, set, type)) return not_implemented();
    return with_word(type, [&](auto zero) { return run<decltype(zero)>(set, static_cast<Mode>(mode), once, timeout, type); });
}

PyObject *wait_seen(PyObject *ivar, PyObject *compare_object, PyObject *value, PyObject *index, double timeout) {
    View view;
    Py_ssize_t how;
    uint64_t wanted;
    const char *at = heap().element(ivar, heap().me, index, view);
    if (!at || !is_word(view.type) || !integer_of(compare_object, how) || how < EQ || how > LE) return not_implemented();
    if (!store_scalar(value, view.type, &wanted)) return not_implemented();
    return with_word(view.type, [&](auto zero) { return wait_seen<decltype(zero)>(at, static_cast<int>(how), wanted, view.type, timeout); });
}

}  // namespace ishmem
