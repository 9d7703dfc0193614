"""The benchmark suite: ``ishmem bench``.

A *case* is an operation with its axes. Its body is set-up only: it runs on every PE, may be collective, and returns a
`Plan`: the statement to time, written as a user writes it, the names in it, and a check of the data. The frame does the
rest: warm-up, number of calls, batches, the slowest PE, median and quartiles, the check, progress, table, JSON, plots.

    @case("broadcast", "host", size=True, pes=(2, 4), root=(0,))
    def broadcast(w: Ishmem, size: int, root: int) -> Plan:
        source, dest = w.filled(size), w.blank(size)
        return Plan(
            "ishmem.broadcast(dest, source, root)",
            {"ishmem": ishmem, "dest": dest, "source": source, "root": root},
            check=lambda done: w.expect(dest, values(size, root)),
            nbytes=size,
        )

    @broadcast.peer("mpi4py")
    def _(w: Mpi, size: int, root: int) -> Plan:
        ...

* ``size=True`` takes the sizes of ``--size``; ``size=(8, 1 << 20)`` are the sizes by default. Any other keyword is an
  axis of the case's own, set with ``--axis root=0,1``; a value that is a function is called with the number of PEs.
  ``pes`` are the numbers of PEs by default.
* ``raise Skip("reason")`` where a point makes no sense: its row is shown with the reason.
* `Plan.limit` is a second statement over the same names: what the machine itself takes for it.
* A body may run with names of its own choice: `Ishmem`, `Mpi` and `Shmem` (worlds.py) give it arrays and windows, and
  free them after the row.

Each number of PEs runs as one job per library, all alive at the same time: ishmrun for ishmem, mpiexec for mpi4py,
oshrun for shmem4py. The batches of the contenders take turns, so that ratios hold on a noisy machine.
"""

from ishmem.benchmarks.cases import Case, Plan, Skip, Wrong, case, values

__all__ = ["Case", "Plan", "Skip", "Wrong", "case", "values"]
