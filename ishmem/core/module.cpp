// The Python module ishmem._core.
#include "bindings.hpp"
#include "fastcall.hpp"
#include "routine.hpp"

using namespace ishmem;

namespace {

PyMethodDef hot[] = {
    method<&put>("put"),
    method<&get>("get"),
    method<&put_nbi>("put_nbi"),
    method<&get_nbi>("get_nbi"),
    method<&p>("p"),
    method<&g>("g"),
    method<&iput>("iput"),
    method<&iget>("iget"),
    method<&ibput>("ibput"),
    method<&ibget>("ibget"),
    method<&put_signal<false>>("put_signal"),
    method<&put_signal<true>>("put_signal_nbi"),
    method<&put_element>("put_element"),
    method<&get_element>("get_element"),
    method<&host_signals>("host_signals"),
    method<&wait_until<false>>("wait_until"),
    method<&wait_until<true>>("signal_wait_until"),
    method<&signal_fetch>("signal_fetch"),
    method<&test>("test"),
    method<&running_name>("running_name"),
    method<&running_arguments>("running_arguments"),
    method<&quiet>("quiet"),
    method<&barrier>("barrier"),
    method<&barrier_all>("barrier_all"),
    method<&sync_all>("sync_all"),
    method<&alltoalls>("alltoalls"),
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef of_sets = {"look_at_set", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&look_at_set)), METH_FASTCALL, nullptr};
PyMethodDef of_atomics = {"atomic", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&atomic)), METH_FASTCALL, nullptr};

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The host's hot path: loads, stores, copies, atomics and waits on mapped heaps.";
    if (PyModule_AddFunctions(m.ptr(), hot) != 0 || !add_routine_type(m.ptr())) throw nb::python_error();
    m.def("atomic", [](const nb::int_ &code) { return nb::steal(PyCFunction_New(&of_atomics, code.ptr())); });
    m.def("look_at_set", [](const nb::int_ &code) { return nb::steal(PyCFunction_New(&of_sets, code.ptr())); });
    bind_graph(m);
    bind_heap(m);
    bind_python_calls(m);
    bind_waits(m);
    bind_completion(m);
    bind_late(m);
    bind_collectives(m);
    bind_on_queue(m);
    bind_private_memory(m);
    bind_proxy(m);
    bind_network(m);
#ifdef REHEARSALS
    bind_rehearsal(m);
#endif
    bind_strided(m);
    bind_unfinished_work(m);
    bind_tracing(m);
    bind_watchdog(m);
    bind_status_signals(m);
    bind_losses(m);
}
