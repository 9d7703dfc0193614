"""The slow tests: ``make test-slow`` runs them, ``make test`` does not.

Each takes many seconds to check again, on more PEs, nodes, settings or sizes, what a shorter test checks; or it checks
a tool of ours, or the simulator, in a way that a change of ``ishmem`` hardly breaks. Its reason is in `SLOW`.
"""

from __future__ import annotations

NODES = "test_chapters_on_nodes.py::test_chapter, on two nodes"
ROUTES = "the same with other settings"
EXAMPLE = "the same on other numbers of PEs"
SIMULATOR = "checks the simulator only"

SLOW = {
    "dpex/test_cache.py::test_old_kernels_make_room": "test_kernel_cache.py: the same store",
    "dpex/test_random_kernels.py::test_same_results[many]": "fewer random kernels",
    "test_apps.py::test_benchmark": "test_bench.py: the same runner",
    "test_apps.py::test_programs_with_mpi4py_have_the_same_results": "checks the programs that figures compare with",
    "test_apps.py::test_two_nodes": "test_results_are_those_of_the_reference, on one node",
    "test_apps.py::test_forms_are_measured_beside_each_other": "test_bench.py: the same runner",
    "test_atomic_orders.py::test_on_nodes": "test_orders, on one node",
    "test_bench.py::test_collectives_in_kernels_run": "test_kernels_collectives.py",
    "test_bench.py::test_every_case_of_kernels_runs": "the chapters' tests in kernels",
    "test_bench.py::test_every_collective_runs": "test_collectives.py",
    "test_bench.py::test_results_of_a_run": "test_json_round_trip",
    "test_bench.py::test_json_round_trip": "test_files_that_hold_no_results",
    "test_chapters_on_nodes.py::test_collectives_on_many_nodes": "test_collectives_on_three_nodes",
    "test_chapters_on_nodes.py::test_kernels_on_many_nodes": NODES,
    "test_chapters_on_nodes.py::test_rendezvous_of_kernels": NODES,
    "test_clients.py::test_some_files_of_the_clients": "make test-clients",
    "test_device_sharing.py::test_a_kept_kernel_is_refused_too": "test_every_wait_is_refused_and_all_else_works",
    "test_docs.py::test_a_notebook_shows_what_its_cells_print": "test_notebook.py",
    "test_examples.py::test_denoise[1-shape0]": EXAMPLE,
    "test_examples.py::test_denoise[3-shape2]": EXAMPLE,
    "test_examples.py::test_transformer[1]": EXAMPLE,
    "test_examples.py::test_transformer[3]": EXAMPLE,
    "test_examples.py::test_transformer[4]": EXAMPLE,
    "test_examples.py::test_transformer_with_checks[{'ISHMEM_SIM_ORDER': 'late:2'}]": "test_order.py",
    "test_faults.py::test_short_jobs": "test_two_jobs_at_once",
    "test_group_barriers.py::test_a_part_of_the_group[divergent-put_work_group-16]": "the other shapes",
    "test_group_barriers.py::test_a_part_of_the_group[loop-put_work_group-16]": "the other shapes",
    "test_group_barriers.py::test_a_part_of_the_group[the first-put_signal_work_group-16]": "the other routines",
    "test_group_barriers.py::test_a_part_of_the_group[the first-sum_reduce_work_group-16]": "the other routines",
    "test_hosts.py::test_denoise": "test_job",
    "test_indexed.py::test_on_nodes_and_late": "test_in_kernels, and " + NODES,
    "test_inference.py::test_calls_of_the_driver": "test_gather_and_scatter; counts calls",
    "test_inference.py::test_peers_without_atomics": ROUTES,
    "test_mixed_calls.py::test_mixed[barrier-0-1]": "the other places of the call",
    "test_mixed_calls.py::test_mixed[reduce-3-0]": "the other places of the call",
    "test_moe.py::test_by_the_proxy[{'ISHMEM_SIM_ORDER': 'late:3'}]": ROUTES,
    "test_moe.py::test_calls_of_the_driver": "test_layers; counts calls",
    "test_moe.py::test_layers[4pes]": EXAMPLE,
    "test_moe.py::test_normal_in_rounds[2pes]": EXAMPLE,
    "test_moe.py::test_normal_in_rounds[3pes]": EXAMPLE,
    "test_moe.py::test_on_two_nodes": "test_layers, and " + NODES,
    "test_network.py::test_counter[1+3]": "the same on 2 + 2 PEs",
    "test_network.py::test_kernel_completes_host_puts[2+2-on queue]": "the same on 1 + 3 PEs",
    "test_network.py::test_kernel_completes_host_puts[2+2-barrier]": "the same on 1 + 3 PEs",
    "test_network.py::test_kernel_reuses_source[1+3-1024]": "the same on 2 + 2 PEs",
    "test_network.py::test_kernel_reuses_source[1+3-1025]": "the same on 2 + 2 PEs",
    "test_network.py::test_payloads[off]": ROUTES,
    "test_network.py::test_places[1+3]": "the same on 2 + 2 PEs",
    "test_network_faults.py::test_collectives_on_interleaved_nodes": "test_irregular_placement",
    "test_network_faults.py::test_loss_of_one_of_eight_nodes": "test_fault, on two nodes",
    "test_on_queue_collectives.py::test_large_results": "test_results, of other sizes",
    "test_order_on_nodes.py::test_chapter[amo]": NODES,
    "test_order_on_nodes.py::test_chapter[order]": NODES,
    "test_order_on_nodes.py::test_long": "test_program",
    "test_preload.py::test_forms_of_a_program": "test_a_program_does_the_same",
    "test_private_memory.py::test_other_routes[{'ISHMEM_SIM_HOST_ATOMICS': '0'}]": ROUTES,
    "test_private_memory.py::test_other_routes[{'ISHMEM_SIM_IPC': 'opaque'}]": ROUTES,
    "test_recipes.py::test_pbs": "the other recipes",
    "test_routes.py::test_contention": "test_operation, at once",
    "test_scale.py::test_kernels_of_a_large_job": "the same on fewer PEs",
    "test_simulator.py::test_a_kernel_that_does_not_end_is_no_success": SIMULATOR,
    "test_simulator.py::test_dpnp": SIMULATOR,
    "test_simulator.py::test_inline_work_that_does_not_end": SIMULATOR,
    "test_simulator.py::test_ipc_handles[opaque-strict-INVALID_ARGUMENT-hello]": SIMULATOR,
    "test_simulator.py::test_stack_in_strict_mode": SIMULATOR,
    "test_simulator.py::test_trace": SIMULATOR,
    "test_simulator.py::test_work_groups_that_wait_for_each_other[1]": SIMULATOR,
    "test_simulator_compiler.py::test_long_kernels_without_work_groups_are_not_vectorised": SIMULATOR,
    "test_simulator_compiler.py::test_machine_code_is_kept_and_damage_is_noticed": SIMULATOR,
    "test_simulator_compiler.py::test_one_machine_code_serves_all_pes_and_numbers_of_pes": SIMULATOR,
    "test_strided.py::test_shaped_on_nodes[late]": ROUTES,
    "test_values.py::test_stored_values_are_checked[2pes-uint64]": "the same of int64",
}
"""The tests, or functions of tests, and where the same is checked in less time."""


def is_slow(test: str) -> bool:
    """Return whether the id of a test, below the folder ``tests``, is that of a slow one."""
    return test in SLOW or test.partition("[")[0] in SLOW
