// Bindings of the waits that Python calls, and how they end.
#include "bindings.hpp"

namespace ishmem {
void bind_waits(nb::module_ &m) {
    m.def("on_wait", [](nb::handle call) { on_wait(call.ptr()); }, nb::arg().none());
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("MIXED") = static_cast<int>(Mixed);
}

}  // namespace ishmem
