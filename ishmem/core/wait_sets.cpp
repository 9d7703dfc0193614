// Wait and test for all, any or some of a set of this PE's variables.
#include <cstring>
#include <vector>

#include "polling.hpp"
#include "python_calls.hpp"
#include "unfinished_work.hpp"

namespace ishmem {
namespace {

// A set in memory: consecutive variables are `step` bytes apart.
struct Set {
    const char *first;
    size_t step;
    Type type;
    alignas(8) char value[8];      // that all variables are compared with, unless each has its own
    const char *wanted = value;
    size_t wanted_step = 0;        // 0: all variables are compared with one value
    int how;
    Mode mode;
    std::vector<int64_t> pending;  // indices of the variables to test, without excluded ones
    std::vector<int64_t> found;
};

template <class T>
T seen_at(const Set &set, int64_t i) {
    return __atomic_load_n(reinterpret_cast<const T *>(set.first + i * static_cast<int64_t>(set.step)), __ATOMIC_ACQUIRE);
}

const void *wanted_at(const Set &set, int64_t i) { return set.wanted + i * static_cast<int64_t>(set.wanted_step); }

template <class T>
bool holds(const Set &set, int64_t i) {
    return compare(seen_at<T>(set, i), set.how, *static_cast<const T *>(wanted_at(set, i)));
}

// A pseudo-random start index, so that no variable of a set is starved. The caller holds the GIL.
size_t turn() {
    static uint64_t state = 0;
    uint64_t mixed = (state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    return mixed ^ mixed >> 31;
}

// Tests the set once. Returns whether the call is complete.
template <class T>
bool look(Set &set, size_t start) {
    const size_t size = set.pending.size();
    if (set.mode == Any) {
        for (size_t k = 0; k < size && set.found.empty(); ++k) {
            const int64_t i = set.pending[(start + k) % size];
            if (holds<T>(set, i)) set.found.push_back(i);
        }
        return !set.found.empty() || !size;
    }
    size_t kept = 0;
    for (const int64_t i : set.pending) {
        const bool held = holds<T>(set, i);
        if (set.mode == Some && held) set.found.push_back(i);
        if (!held) set.pending[kept++] = i;
    }
    if (set.mode == All) set.pending.resize(kept);
    return set.mode == All ? !kept : !set.found.empty() || !size;
}

// Returns whether `object` is contiguous host memory with at least `count` elements of `type`; fills `view`.
bool host_array(PyObject *object, Type type, size_t count, View &view) {
    return view_of(object, view) && !view.device && view.type == type && (view.order & 1) && view.count >= count;
}

// The arguments of a call, as Python gives them; null where the routine has none.
struct Given {
    PyObject *ivars, *indices, *compare, *values, *status, *timeout;
    bool is_vector;

    Given(long code, PyObject *const *given) {
        const int some = (code & 3) == Some;
        const bool waits = !(code & Test);
        ivars = given[0];
        indices = some ? given[1] : nullptr;
        compare = given[1 + some];
        values = given[2 + some];
        status = given[3 + some];
        timeout = waits ? given[4 + some] : nullptr;
        is_vector = code & Vector;
    }
};

bool has_one_axis(PyObject *array) {
    static PyObject *const name = PyUnicode_InternFromString("ndim");
    PyObject *axes = PyObject_GetAttr(array, name);
    Py_ssize_t number = 0;
    const bool one = axes && integer_of(axes, number) && number == 1;
    Py_XDECREF(axes);
    PyErr_Clear();
    return one;
}

bool variables_of(PyObject *ivars, Set &set, size_t &count) {
    View view;
    Shape shape;
    if (!view_of(ivars, view, &shape) || !is_word(view.type) || !has_one_axis(ivars)) return false;
    const Layout layout(view, shape);
    if (layout.axes != 1 || layout.stride[0] < 1) return false;
    count = view.count;
    set.type = view.type;
    set.step = static_cast<size_t>(layout.stride[0]) * view.item;
    set.first = heap().remote(view, count ? (count - 1) * set.step + view.item : 0, heap().me);
    return set.first;
}

bool wanted_of(const Given &given, Set &set, size_t count) {
    if (!given.is_vector) return store_scalar(given.values, set.type, set.value);
    View view;
    if (!host_array(given.values, set.type, count, view) || view.count != count) return false;
    set.wanted = view.address;
    set.wanted_step = view.item;
    return true;
}

// Reads the arguments; `indices` is where those of the variables that hold go, null where the routine has no such array.
bool read(const Given &given, Set &set, int64_t *&indices) {
    size_t count;
    View mask, out;
    if (!variables_of(given.ivars, set, count) || !comparison_of(given.compare, set.how) || !wanted_of(given, set, count)) return false;
    const bool all = given.status == Py_None;
    if (!all && (!host_array(given.status, Bool, count, mask) || mask.count != count)) return false;
    if (given.indices && (!host_array(given.indices, I64, count, out) || !out.writable)) return false;
    indices = given.indices ? reinterpret_cast<int64_t *>(out.address) : nullptr;
    for (size_t i = 0; i < count; ++i)
        if (all || !mask.address[i]) set.pending.push_back(static_cast<int64_t>(i));
    return true;
}

template <class T>
PyObject *not_satisfied(Outcome outcome, const Set &set, const Given &given) {
    if (outcome == Interrupted) return nullptr;
    const int64_t first = set.pending[0];
    const T seen = seen_at<T>(set, first);
    PyObject *index = PyLong_FromLongLong(first), *wanted = load_scalar(wanted_at(set, first), set.type);
    unsatisfied(outcome, {set.mode, index, load_scalar(&seen, set.type), given.compare, wanted, given.timeout});
    Py_XDECREF(index);
    Py_XDECREF(wanted);
    return nullptr;
}

PyObject *result_of(const Set &set, bool is_test, bool holds, int64_t *indices) {
    if (indices) std::copy(set.found.begin(), set.found.end(), indices);
    if (set.mode == Some) return PyLong_FromSize_t(set.found.size());
    if (set.mode == Any) return PyLong_FromLongLong(set.found.empty() ? -1 : set.found[0]);
    if (is_test) return PyBool_FromLong(holds);
    Py_RETURN_NONE;
}

template <class T>
PyObject *run(Set &set, const Given &given, double limit, int64_t *indices) {
    const size_t start = set.mode == Any ? turn() : 0;
    const auto done = [&] { return look<T>(set, start); };
    bool holds = done();
    if (!holds && given.timeout) {
        const Outcome outcome = poll(done, [] { return heap().status.has_lost(); }, limit, FROM_NETWORK, 1);
        if (outcome != Satisfied) return not_satisfied<T>(outcome, set, given);
        holds = true;
    }
    return result_of(set, !given.timeout, holds, indices);
}

}  // namespace

PyObject *look_at_set(PyObject *bound, PyObject *const *arguments, Py_ssize_t) {
    if (!settle_submitted()) return nullptr;
    const long code = PyLong_AsLong(bound);
    const Given given(code, arguments);
    Set set;
    set.mode = static_cast<Mode>(code & 3);
    double limit = -1;
    int64_t *indices;
    if (!read(given, set, indices) || (given.timeout && !seconds_of(given.timeout, limit))) return not_implemented();
    return with_word(set.type, [&](auto zero) { return run<decltype(zero)>(set, given, limit, indices); });
}

}  // namespace ishmem
