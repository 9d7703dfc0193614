#include "heap.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace ishmem {

Heap *const the_heap = new Heap;  // never destroyed: threads may still poll it at interpreter exit

ptrdiff_t Heap::offset_of(const char *address, size_t bytes) const {
    if (address < base || address >= base + size) return -1;
    const size_t offset = static_cast<size_t>(address - base);
    Found &found = found_at(offset);
    if (found.offset != offset || !found.end) {
        auto next = live_.upper_bound(offset);
        if (next == live_.begin()) return -1;
        found = Found{offset, std::prev(next)->second};
    }
    return offset + bytes <= found.end ? static_cast<ptrdiff_t>(offset) : -1;
}

void Heap::add_live(size_t offset, size_t bytes) {
    live_[offset] = offset + bytes;
    for (Found &found : found_) found = Found{};
}

void Heap::remove_live(size_t offset) {
    live_.erase(offset);
    for (Found &found : found_) found = Found{};
}

void Heap::clear_live() {
    live_.clear();
    for (Found &found : found_) found = Found{};
}

std::pair<size_t, size_t> Heap::static_place(const char *address, size_t bytes) const {
    auto next = statics.upper_bound(address);
    if (next == statics.begin()) return {0, 0};
    const auto &[own, object] = *std::prev(next);
    const size_t offset = static_cast<size_t>(address - own);
    return {offset + bytes <= object.size ? object.number : 0, offset};
}

int64_t *Heap::lock_of(const char *at) const {
    if (is_far(at)) return locks.empty() ? nullptr : locks[static_cast<size_t>(far_pe(at))];
    for (size_t pe = 0; pe < locks.size(); ++pe)
        if (locks[pe] && at >= mapped[pe] && at < mapped[pe] + size) return locks[pe];
    const std::lock_guard<std::mutex> lock(statics_mutex_);
    for (const Static *each : static_objects)
        for (size_t pe = 0; each->device && pe < locks.size(); ++pe)
            if (locks[pe] && at >= each->mapped[pe] && at < each->mapped[pe] + each->size) return locks[pe];
    return nullptr;
}

char *Heap::symmetric(int pe, int64_t offset, size_t bytes, bool held) const {
    const auto index = static_cast<size_t>(pe);
    const auto at = static_cast<uint64_t>(offset);
    if (at <= size && bytes <= size - at) return (held ? far_address(pe, 0) : mapped[index]) + at;
    const std::lock_guard<std::mutex> lock(statics_mutex_);
    const auto [number, within] = static_place(base + offset, bytes);
    if (!number) return nullptr;
    const Static &object = *static_objects[number - 1];
    return (held ? far_address(pe, STATICS_AT + object.offset) : object.mapped[index]) + within;
}

char *Heap::static_target(const char *address, size_t bytes, Py_ssize_t pe) const {
    char *const target = target_of(pe);
    const auto [number, offset] = static_place(address, bytes);
    if (!target || !number) return nullptr;
    const Static &object = *static_objects[number - 1];
    return (is_far(target) ? far_address(static_cast<int>(pe), STATICS_AT + object.offset) : object.mapped[static_cast<size_t>(pe)]) + offset;
}

void Heap::add_static(char *own, size_t bytes, const std::vector<uintptr_t> &others, const std::vector<uintptr_t> &engine_addresses) {
    const std::lock_guard<std::mutex> lock(statics_mutex_);
    const Static *last = static_objects.empty() ? nullptr : static_objects.back();
    constexpr size_t MOST = 0xFFFF;  // Array::location has 16 bits for the number
    if (static_objects.size() == MOST) throw std::runtime_error("static, register: a job has at most 65535 objects and registrations");
    static_objects.reserve(MOST);  // other threads read it without the lock
    Static &object = statics[own];
    object.size = bytes;
    object.device = !engine_addresses.empty();
    object.offset = last ? last->offset + (last->size + 63) / 64 * 64 : 0;
    static_objects.push_back(&object);
    object.number = static_objects.size();
    for (size_t pe = 0; pe < others.size(); ++pe)
        object.mapped.push_back(others[pe] ? reinterpret_cast<char *>(others[pe])
                                           : far_address(static_cast<int>(pe), STATICS_AT + object.offset));
    for (size_t pe = 0; pe < engine_addresses.size(); ++pe)
        object.copy_engine_bases.push_back(engine_addresses[pe] ? reinterpret_cast<char *>(engine_addresses[pe]) : object.mapped[pe]);
}

void Heap::remove_static(const char *own) {
    const std::lock_guard<std::mutex> lock(statics_mutex_);
    auto node = statics.extract(own);
    if (!node) return;
    node.mapped().size = 0;
    removed_statics.push_back(std::move(node));
}

char *Heap::static_in(int pe, uint64_t offset, size_t bytes) const {
    const std::lock_guard<std::mutex> lock(statics_mutex_);
    const auto after = [](uint64_t at, const Static *object) { return at < object->offset; };
    const auto next = std::upper_bound(static_objects.begin(), static_objects.end(), offset, after);
    if (next == static_objects.begin()) return nullptr;
    const Static &object = **std::prev(next);
    const uint64_t within = offset - object.offset;
    return within + bytes <= object.size ? object.mapped[static_cast<size_t>(pe)] + within : nullptr;
}

char *Heap::local(const View &view, size_t bytes) const {
    if (!view.device) return view.address;
    const ptrdiff_t offset = offset_of(view.address, bytes);
    return offset < 0 ? nullptr : mapped[me] + offset;
}

char *Heap::remote(const View &view, size_t bytes, Py_ssize_t pe) const {
    if (pe < 0 || pe >= n_pes) return nullptr;
    const ptrdiff_t offset = view.device ? offset_of(view.address, bytes) : -1;
    if (offset < 0) return static_target(view.address, bytes, pe);
    char *const target = target_of(pe);
    return target ? target + offset : nullptr;
}

char *Heap::copy_engine_address(const View &view, size_t bytes, Py_ssize_t pe) const {
    const auto index = static_cast<size_t>(pe);
    if (const ptrdiff_t offset = view.device ? offset_of(view.address, bytes) : -1; offset >= 0) return copy_engine_bases[index] + offset;
    const auto [number, offset] = static_place(view.address, bytes);
    if (!number) return nullptr;
    const Static &object = *static_objects[number - 1];
    return (object.device ? object.copy_engine_bases : object.mapped)[index] + offset;
}

char *Heap::element(PyObject *array, PyObject *pe_object, PyObject *index, View &view) const {
    Py_ssize_t pe;
    return integer_of(pe_object, pe) ? element(array, pe, index, view) : nullptr;
}

namespace {

// The number in memory of the element at a tuple of indices; false for other objects and where there is none.
bool number_of(PyObject *array, PyObject *indices, bool c_order, Py_ssize_t &number) {
    if (!PyTuple_Check(indices)) return false;
    PyObject *shape = PyObject_GetAttrString(array, "shape");
    const Py_ssize_t axes = PyTuple_GET_SIZE(indices);
    bool found = shape && PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) == axes;
    number = 0;
    for (Py_ssize_t i = 0, index = 0, extent = 0; found && i < axes; ++i) {
        const Py_ssize_t axis = c_order ? i : axes - 1 - i;
        found = integer_of(PyTuple_GET_ITEM(indices, axis), index) && integer_of(PyTuple_GET_ITEM(shape, axis), extent);
        found = found && index >= 0 && index < extent;
        number = number * extent + index;
    }
    Py_XDECREF(shape);
    PyErr_Clear();
    return found;
}

}  // namespace

char *Heap::element(PyObject *array, Py_ssize_t pe, PyObject *index_object, View &view) const {
    Py_ssize_t index;
    if (!view_of(array, view) || (!integer_of(index_object, index) && !number_of(array, index_object, view.order & 1, index))) return nullptr;
    if (!view.order || index < 0 || static_cast<size_t>(index) >= view.count) return nullptr;
    char *first = remote(view, view.bytes(), pe);
    return first ? first + static_cast<size_t>(index) * view.item : nullptr;
}

namespace {

// Computes the fields of a team that depend on the nodes of its members.
void find_nodes(Team &team) {
    const Heap &h = heap();
    std::vector<int> places;  // 1 plus the index in `groups` of each node; 0: none so far
    for (int j = 0; j < team.size; ++j) {
        const size_t node = static_cast<size_t>(h.nodes[static_cast<size_t>(team.pe(j))]);
        if (node >= places.size()) places.resize(node + 1);
        if (!places[node]) {
            team.leaders.push_back(team.pe(j));
            team.groups.emplace_back();
            places[node] = static_cast<int>(team.groups.size());
        }
        team.groups[static_cast<size_t>(places[node] - 1)].push_back(j);
    }
    team.spans = team.groups.size() > 1;
    team.node = places[static_cast<size_t>(h.nodes[static_cast<size_t>(h.me)])] - 1;
    for (int member : team.groups[static_cast<size_t>(team.node)]) {
        if (member == team.me) team.index = static_cast<int>(team.near.size());
        team.near.push_back(team.pe(member));
    }
    team.in_runs = true;
    for (const auto &group : team.groups) {
        while (size_t{1} << team.rounds < group.size()) ++team.rounds;
        team.in_runs = team.in_runs && group.back() - group.front() + 1 == static_cast<int>(group.size());
    }
}

}  // namespace

void Heap::lose(int pe) {
    if (status.survives_losses) {
        status.dead[static_cast<size_t>(pe)] = true;
        __atomic_store_n(&targets[static_cast<size_t>(pe)], nullptr, __ATOMIC_RELAXED);
    }
    status.lost = pe;
}

bool Heap::has_lost(const Team &team) const {
    if (!status.survives_losses) return status.has_lost();
    for (int member = 0; member < team.size; ++member)
        if (status.dead[static_cast<size_t>(team.pe(member))]) return true;
    return false;
}

void Heap::set_team(unsigned handle, const Team &shape, int number, uint64_t sequence, PyObject *identity) {
    Team &made = teams[handle] = shape;
    made.me = number;
    made.sequence = made.collectives = sequence;
    made.shape = identity;
    if (number >= 0 && !nodes.empty()) find_nodes(made);
}

}  // namespace ishmem
