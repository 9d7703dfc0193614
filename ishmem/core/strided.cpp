// Strided copies on the mapped heaps: put and get of arrays that are not contiguous, and the strided forms. A copy is
// divided into boxes: blocks of consecutive elements, at regular distances along some axes.
#include <algorithm>
#include <cstring>

#include "bindings.hpp"
#include "python_calls.hpp"
#include "reach.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

// An axis of a copy: its length, and the distances from an element to the next in both arrays, in elements.
struct Axis {
    Py_ssize_t length, to, from;
};

struct Axes {
    int count = 0;
    Axis at[2 * Shape::MOST];  // the innermost first

    Axes() {}  // leaves `at` as it is: to clear it takes longer than a short copy
    void add(const Axis &axis) { at[count++] = axis; }
};

struct Box {
    Py_ssize_t to, from;  // the first elements
    Py_ssize_t block = 1;
    Axes axes;            // of the blocks

    Py_ssize_t count() const {
        Py_ssize_t elements = block;
        for (int i = 0; i < axes.count; ++i) elements *= axes.at[i].length;
        return elements;
    }
};

// The elements of a box in one of its arrays: the offset of the lowest, and the number up to the highest.
struct Extent {
    Py_ssize_t low, count;
};

Extent extent(const Box &box, Py_ssize_t first, Py_ssize_t Axis::*step) {
    Py_ssize_t low = first, high = first + box.block;
    for (int i = 0; i < box.axes.count; ++i) {
        const Py_ssize_t length = (box.axes.at[i].length - 1) * box.axes.at[i].*step;
        (length < 0 ? low : high) += length;
    }
    return {low, high - low};
}

// The axes of an array from the innermost on. The outermost counts as endless: the number of elements addresses the copy.
class AxisCursor {
 public:
    explicit AxisCursor(const Layout &layout) : layout_(layout), axis_(layout.axes) { next(); }
    bool is_outermost() const { return axis_ == 0; }
    Py_ssize_t length() const { return length_; }
    Py_ssize_t stride() const { return stride_; }

    // Passes by `n` elements; false if they do not divide the axis.
    bool pass(Py_ssize_t n) {
        if (length_ == n) {
            next();
            return true;
        }
        stride_ *= n;
        if (is_outermost()) return true;
        if (length_ % n) return false;
        length_ /= n;
        return true;
    }

 private:
    void next() {
        --axis_;
        length_ = axis_ ? layout_.length[axis_] : PY_SSIZE_T_MAX;
        stride_ = layout_.stride[axis_];
    }

    const Layout &layout_;
    int axis_;
    Py_ssize_t length_, stride_;
};

// Finds axes along which the elements of both arrays lie at regular distances; false where there are none.
bool pair_axes(const Layout &to, const Layout &from, Axes &axes) {
    AxisCursor dest(to), source(from);
    while (!dest.is_outermost() || !source.is_outermost()) {
        const Py_ssize_t n = std::min(dest.length(), source.length());
        axes.add({n, dest.stride(), source.stride()});
        if (!dest.pass(n) || !source.pass(n)) return false;
    }
    axes.add({PY_SSIZE_T_MAX, dest.stride(), source.stride()});
    return true;
}

// Makes `dest` ascend along each axis and its innermost axis the densest, joins axes, and takes the block from them.
void arrange(Box &box) {
    Axis *const axes = box.axes.at, *end = axes + box.axes.count;
    for (Axis *axis = axes; axis < end; ++axis) {
        if (axis->to >= 0) continue;
        box.to += (axis->length - 1) * axis->to;
        box.from += (axis->length - 1) * axis->from;
        axis->to = -axis->to, axis->from = -axis->from;
    }
    std::sort(axes, end, [](const Axis &a, const Axis &b) { return a.to < b.to; });
    Axis *last = axes;
    for (Axis *axis = axes + 1; axis < end; ++axis) {
        if (axis->to == last->length * last->to && axis->from == last->length * last->from) last->length *= axis->length;
        else *++last = *axis;
    }
    end = std::min(last + 1, end);
    const bool is_block = axes < end && axes->to == 1 && axes->from == 1;
    if (is_block) box.block = axes->length, std::copy(axes + 1, end, axes);
    box.axes.count = static_cast<int>(end - axes) - is_block;
}

// Divides the first `elements` along the axes into boxes: whole steps of the outermost axis, then what remains, in the
// same way. Ends when `act` returns false.
template <class Act>
bool each_box(const Axes &axes, size_t elements, Act act) {
    size_t volume = 1;
    for (int i = 0; i + 1 < axes.count; ++i) volume *= static_cast<size_t>(axes.at[i].length);
    Py_ssize_t to = 0, from = 0;
    for (int i = axes.count - 1; elements; --i) {
        const Axis &axis = axes.at[i];
        const Py_ssize_t whole = static_cast<Py_ssize_t>(volume == 1 ? elements : elements / volume);
        elements -= static_cast<size_t>(whole) * volume;
        if (whole) {
            Box box{to, from, 1, {}};
            for (int k = 0; k < i; ++k) box.axes.add(axes.at[k]);
            if (whole > 1) box.axes.add({whole, axis.to, axis.from});
            arrange(box);
            if (!act(box)) return false;
            to += whole * axis.to, from += whole * axis.from;
        }
        if (i) volume /= static_cast<size_t>(axes.at[i - 1].length);
    }
    return true;
}

// Why a copy cannot be divided into boxes; null if it can.
const char *divide(const Operands &operands, Axes &axes) {
    const Layout to(operands.to, operands.to_shape), from(operands.from, operands.from_shape);
    if (to.axes == Shape::UNKNOWN) return "dest";
    if (from.axes == Shape::UNKNOWN) return "source";
    return pair_axes(to, from, axes) ? nullptr : "rows";
}

// Whether elements of `dest` share memory.
bool overlaps(const Box &box) {
    Py_ssize_t span = box.block;
    for (int i = 0; i < box.axes.count; ++i) {
        if (box.axes.at[i].to < span) return true;
        span += (box.axes.at[i].length - 1) * box.axes.at[i].to;
    }
    return false;
}

// Calls `act` for each row of blocks of the axes up to `axis`; addresses when it returns false.
template <class Act>
bool each_row(const Box &box, int axis, char *to, const char *from, Py_ssize_t item, const Act &act) {
    if (axis < 0) return act(to, from, Steps{0, 0, 1});
    const Axis &a = box.axes.at[axis];
    if (axis == 0) return act(to, from, Steps{a.to * item, a.from * item, static_cast<size_t>(a.length)});
    for (Py_ssize_t i = 0; i < a.length; ++i, to += a.to * item, from += a.from * item)
        if (!each_row(box, axis - 1, to, from, item, act)) return false;
    return true;
}

bool put_far(const Box &box, char *to, const char *from, size_t item) {
    const Reach &reach = reach_of(to);
    const size_t bytes = static_cast<size_t>(box.block) * item;
    const auto row = [&](char *at, const char *of, const Steps &steps) { return reach.put_row(at, of, bytes, item, steps); };
    return each_row(box, box.axes.count - 1, to, from, static_cast<Py_ssize_t>(item), row);
}

// Calls `act` for each block; addresses when it returns false.
template <class Act>
bool each_block(const Box &box, char *to, const char *from, size_t item, const Act &act) {
    const auto row = [&](char *at, const char *of, const Steps &steps) { return each_block(at, of, steps, act); };
    return each_row(box, box.axes.count - 1, to, from, static_cast<Py_ssize_t>(item), row);
}

bool get_far(const Box &box, char *to, const char *from, size_t item) {
    Gets gets;
    const Reach &reach = reach_of(from);
    const size_t bytes = static_cast<size_t>(box.block) * item;
    const auto get = [&](char *at, const char *of) { return gets.start(at, reach.source(of, bytes, "get with steps"), bytes); };
    return each_block(box, to, from, item, get) && gets.await() == Satisfied;
}

bool copy_by_engine(const Box &box, char *to, const char *from, size_t item, PyObject *local) {
    const size_t bytes = static_cast<size_t>(box.block) * item;
    return each_block(box, to, from, item, [&](char *at, const char *of) { return ishmem::copy_by_engine(at, of, bytes, local); });
}

void copy_near(const Box &box, char *to, const char *from, size_t item) {
    const size_t bytes = static_cast<size_t>(box.block) * item;
    each_row(box, box.axes.count - 1, to, from, static_cast<Py_ssize_t>(item), [=](char *at, const char *of, const Steps &steps) {
        move_row(at, of, steps, bytes, item);
        return true;
    });
}

void copy_without_gil(const Box &box, char *to, const char *from, size_t item) {
    const PrivateMemory::Use use;
    Py_BEGIN_ALLOW_THREADS
    copy_near(box, to, from, item);
    Py_END_ALLOW_THREADS
}

View from_element(View view, Py_ssize_t first) {
    view.address += first * static_cast<Py_ssize_t>(view.item);
    return view;
}

bool copy(const Box &box, char *at, const char *of, size_t item) {
    if (is_far(at) || is_far(of)) {
        const PrivateMemory::Use use;
        return is_far(at) ? put_far(box, at, of, item) : get_far(box, at, of, item);
    }
    if (static_cast<size_t>(box.count()) * item < LONG) copy_near(box, at, of, item);
    else copy_without_gil(box, at, of, item);
    return true;
}

CopyResult copy(const Operands &operands, const Box &box, bool is_put, PyObject *local) {
    const size_t item = operands.to.item, bytes = static_cast<size_t>(box.block) * item;
    const Extent to = extent(box, box.to, &Axis::to), from = extent(box, box.from, &Axis::from);
    const View dest = from_element(operands.to, to.low), source = from_element(operands.from, from.low);
    const ArrayRange target = {dest, static_cast<size_t>(to.count) * item}, origin = {source, static_cast<size_t>(from.count) * item};
    CopyAddresses addresses;
    if (!find_addresses(target, origin, operands.pe, is_put, bytes, static_cast<size_t>(box.count() / box.block), addresses)) return CopyResult::NotMade;
    char *at = addresses.to + (box.to - to.low) * static_cast<Py_ssize_t>(item);
    const char *of = addresses.from + (box.from - from.low) * static_cast<Py_ssize_t>(item);
    if (addresses.by_copy_engine) return copy_by_engine(box, at, of, item, local) ? CopyResult::ByEngine : CopyResult::NotMade;
    return copy(box, at, of, item) ? CopyResult::ByHost : CopyResult::NotMade;
}

// A copy of no elements: whether the symmetric array is one.
CopyResult copy_nothing(const Operands &operands, bool is_put) {
    return heap().remote(is_put ? operands.to : operands.from, 0, operands.pe) ? CopyResult::ByHost : CopyResult::NotMade;
}

}  // namespace

CopyResult move_views(const Operands &operands, bool is_put, const Caller &caller) {
    Axes axes;
    CopyResult all = CopyResult::ByHost;
    if (!operands.count) return copy_nothing(operands, is_put);
    if (divide(operands, axes)) return CopyResult::NotMade;
    const bool good = each_box(axes, operands.count, [&](const Box &box) {
        const CopyResult made = overlaps(box) ? CopyResult::NotMade : copy(operands, box, is_put, caller.local);
        if (made == CopyResult::ByEngine) all = made;
        return made != CopyResult::NotMade;
    });
    return good ? all : CopyResult::NotMade;
}

bool Blocks::extent(Py_ssize_t step, size_t &elements) const {
    if (size < 0 || count < 0 || step < 1 || step < size) return false;
    elements = 0;
    if (!size || !count) return true;
    size_t last;
    if (__builtin_mul_overflow(static_cast<size_t>(count - 1), static_cast<size_t>(step), &last)) return false;
    return !__builtin_add_overflow(last, static_cast<size_t>(size), &elements);
}

namespace {

// What a call gives of its blocks; no size where each is one element.
struct GivenBlocks {
    PyObject *dst, *sst, *size, *count;

    bool read(Blocks &blocks) const {
        if (!integer_of(dst, blocks.to_step) || !integer_of(sst, blocks.from_step)) return false;
        blocks.size = 1;
        return (!size || integer_of(size, blocks.size)) && integer_of(count, blocks.count);
    }
};

Done move_strided(PyObject *dest, PyObject *source, const GivenBlocks &given, PyObject *pe, bool is_put) {
    Operands operands;
    Blocks blocks;
    if (!given.read(blocks)) return {false};
    if (!view_of(dest, operands.to) || !view_of(source, operands.from) || !integer_of(pe, operands.pe)) return {false};
    if (!fit(operands.to, operands.from) || !(operands.to.order & operands.from.order & 1)) return {false};
    size_t to_extent, from_extent;
    if (!blocks.extent(blocks.to_step, to_extent) || !blocks.extent(blocks.from_step, from_extent)) return {false};
    if (to_extent > operands.to.count || from_extent > operands.from.count) return {false};
    if (!to_extent) return {complete(copy_nothing(operands, is_put), false)};
    const bool dense = blocks.to_step == blocks.size && blocks.from_step == blocks.size;
    Box box{0, 0, dense ? blocks.size * blocks.count : blocks.size, {}};
    if (!dense && blocks.count > 1) box.axes.add({blocks.count, blocks.to_step, blocks.from_step});
    return {complete(copy(operands, box, is_put, is_put ? source : dest), false)};
}

}  // namespace

Done iput(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *nelems, PyObject *pe) {
    return move_strided(dest, source, {dst, sst, nullptr, nelems}, pe, true);
}

Done iget(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *nelems, PyObject *pe) {
    return move_strided(dest, source, {dst, sst, nullptr, nelems}, pe, false);
}

Done ibput(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *bsize, PyObject *nblocks, PyObject *pe) {
    return move_strided(dest, source, {dst, sst, bsize, nblocks}, pe, true);
}

Done ibget(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *bsize, PyObject *nblocks, PyObject *pe) {
    return move_strided(dest, source, {dst, sst, bsize, nblocks}, pe, false);
}

namespace {

// Divides a copy of `count` elements between two arrays into boxes. Returns a list of (offsets of the first elements in
// dest and source, length of a block, axes), where an axis is (length, distances in dest and source), the outermost
// first, in elements. Or returns why it is impossible: "dest" or "source" has strides that are not multiples of its
// elements, the "rows" of one do not divide those of the other, or there is "overlap" in dest.
nb::object boxes(nb::handle dest, nb::handle source, size_t count) {
    Operands operands;
    Axes axes;
    if (!view_of(dest.ptr(), operands.to, &operands.to_shape) || !view_of(source.ptr(), operands.from, &operands.from_shape)) throw nb::type_error("not arrays");
    if (!count) return nb::list();
    if (const char *reason = divide(operands, axes)) return nb::str(reason);
    nb::list all;
    const bool good = each_box(axes, count, [&](const Box &box) {
        nb::list found;
        for (int i = box.axes.count - 1; i >= 0; --i)
            found.append(nb::make_tuple(box.axes.at[i].length, box.axes.at[i].to, box.axes.at[i].from));
        all.append(nb::make_tuple(box.to, box.from, box.block, found));
        return !overlaps(box);
    });
    return good ? nb::object(all) : nb::str("overlap");
}

}  // namespace

void bind_strided(nb::module_ &m) { m.def("boxes", &boxes); }

}  // namespace ishmem
