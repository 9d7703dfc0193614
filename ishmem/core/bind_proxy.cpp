// Bindings of the proxy.
#include "bindings.hpp"

#include <nanobind/stl/vector.h>

#include "proxy.hpp"

namespace ishmem {
namespace {

void make(ProxySetup *made, uintptr_t ring, size_t slots, size_t tickets, uintptr_t append_copy, uintptr_t list, uintptr_t staging, size_t room) {
    new (made) ProxySetup{pointer<char *>(ring), slots, tickets, pointer<decltype(made->append_copy)>(append_copy),
                          pointer<void *>(list), pointer<char *>(staging), room};
}

}  // namespace

void bind_proxy(nb::module_ &m) {
    nb::class_<ProxySetup>(m, "ProxySetup")
        .def("__init__", &make, nb::kw_only(), nb::arg("ring"), nb::arg("slots"), nb::arg("tickets"), nb::arg("append_copy"), nb::arg("list"), nb::arg("staging"), nb::arg("room"));
    m.def("start_proxy", &start_proxy);
    m.def("stop_proxy", &stop_proxy, nb::call_guard<nb::gil_scoped_release>());  // a request that it waits for may take it
    m.def("proxy_served", &proxy_served);
    m.def("proxy_problem", &proxy_problem);
}

}  // namespace ishmem
