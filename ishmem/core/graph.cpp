// Recorded work of SYCL queues: command graphs, through functions that the SYCL library exports.
//
// Their names tell the types of their arguments, so a library with another interface lacks them. An object of SYCL is a
// shared pointer to its implementation.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

struct Object {
    std::shared_ptr<void> implementation;
};

struct Properties {  // an empty sycl::property_list: a set of bits and a vector
    const size_t nothing[8] = {};
};

struct Events {  // sycl::span
    const Object *first;
    size_t count;
};

struct CodeLocation {
    const char *file = "", *function = "";
    unsigned long line = 0, column = 0;
};

struct Sycl {
    int (*state)(const Object *queue) = nullptr;
    Object (*graph_of)(const Object *queue) = nullptr;
    void (*create)(Object *graph, const Object *queue, const Properties &) = nullptr;
    void (*begin)(Object *graph, Object *queue, const Properties &) = nullptr;
    void (*end)(Object *graph, Object *queue) = nullptr;
    Object (*finalize)(const Object *graph, const Properties &) = nullptr;
    Object (*submit)(const Object *queue, Object *executable, Events, const CodeLocation &) = nullptr;
};

Sycl sycl;

Object *at(uintptr_t address) { return reinterpret_cast<Object *>(address); }

bool is_recording(uintptr_t queue) { return sycl.state && sycl.state(at(queue)) != 0; }

// An object in Python: a class of the module would be reported as leaked where a program ends with it.
nb::object holding(Object object) {
    return nb::capsule(new Object(std::move(object)), [](void *held) noexcept { delete static_cast<Object *>(held); });
}

Object &held(const nb::capsule &holder) { return *static_cast<Object *>(holder.data()); }

nb::object begin(uintptr_t queue) {
    Object graph;
    sycl.create(&graph, at(queue), {});
    sycl.begin(&graph, at(queue), {});
    return holding(std::move(graph));
}

// Submits an executable graph after some events; returns the capsule of its event.
nb::object submit(const nb::capsule &executable, uintptr_t queue, const std::vector<uintptr_t> &before) {
    std::vector<Object> events;
    for (uintptr_t event : before) events.push_back(*at(event));
    return event_capsule(new Object(sycl.submit(at(queue), &held(executable), {events.data(), events.size()}, {})));
}

template <class Function>
void set(Function &function, uintptr_t address) { function = reinterpret_cast<Function>(address); }

}  // namespace

void bind_graph(nb::module_ &m) {
    m.def("use_sycl_graphs", [](uintptr_t state, uintptr_t graph_of, uintptr_t create, uintptr_t begin, uintptr_t end,
                                uintptr_t finalize, uintptr_t submit) {
        set(sycl.state, state), set(sycl.graph_of, graph_of), set(sycl.create, create), set(sycl.begin, begin);
        set(sycl.end, end), set(sycl.finalize, finalize), set(sycl.submit, submit);
    });
    m.def("begin_graph", &begin);
    m.def("end_graph", [](const nb::capsule &graph, uintptr_t queue) { sycl.end(&held(graph), at(queue)); });
    m.def("finalize_graph", [](const nb::capsule &graph) { return holding(sycl.finalize(&held(graph), {})); });
    m.def("submit_graph", &submit);
    m.def("graph_of", [](uintptr_t queue) { return is_recording(queue) ? holding(sycl.graph_of(at(queue))) : nb::none(); });
    m.def("is_same_graph", [](const nb::capsule &one, const nb::capsule &other) {
        return held(one).implementation == held(other).implementation;
    });
}

}  // namespace ishmem
