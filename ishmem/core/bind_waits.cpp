// Bindings of the waits that Python calls, and how they end.
#include "bindings.hpp"

namespace ishmem {
namespace {

nb::object steal(PyObject *result) {
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

}  // namespace

void bind_waits(nb::module_ &m) {
    const auto any = nb::arg().none();
    m.def("on_wait", [](nb::handle call) { on_wait(call.ptr()); }, any);
    m.def("wait_set", [](nb::handle ivars, nb::handle compare, nb::handle values, nb::handle ignored, nb::handle found, int mode, bool once, double timeout) {
        return steal(wait_set(ivars.ptr(), compare.ptr(), values.ptr(), ignored.ptr(), found.ptr(), mode, once, timeout));
    }, any, any, any, any, any, nb::arg(), nb::arg(), nb::arg());
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("TIMED_OUT") = static_cast<int>(TimedOut);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("MIXED") = static_cast<int>(Mixed);
}

}  // namespace ishmem
