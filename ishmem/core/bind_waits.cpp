// Bindings of the call that reports long waits, and of the outcomes of waits.
#include "bindings.hpp"

namespace ishmem {
void bind_waits(nb::module_ &m) {
    m.def("on_wait", [](nb::handle call) { on_wait(call.ptr()); }, nb::arg().none());
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("MIXED") = static_cast<int>(Mixed);
}

}  // namespace ishmem
