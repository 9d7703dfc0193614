"""The benchmark suite: ``ishmem bench``.

A *case* is an operation with its axes. Its body only prepares: it runs on every PE, may be collective, and returns a
`Plan`: the statement to time, as a user would write it, the names in it, and a check of the data. The runner does the
rest: warm-up, number of calls, batches, the slowest PE, median and quartiles, the check, progress, table, JSON, plots.

    @case("broadcast", "host", size=True, pes=(2, 4), root=(0,))
    def broadcast(w: Ishmem, size: int, root: int) -> Plan:
        source, dest = w.filled(size), w.blank(size)
        names = w.names(dest=dest, source=source, root=root)
        check = lambda done: w.expect(dest, values(size, root))
        return Plan("ishmem.broadcast(dest, source, root)", names, check, nbytes=size)

    @broadcast.peer("mpi4py")
    def _(w: Mpi, size: int, root: int) -> Plan:
        ...

A body that is the same for both libraries, but for the statement, is registered for both by ``peers=("mpi4py",)``.

* ``size=True`` uses the sizes of ``--size``; ``size=(8, 1 << 20)`` are the case's own. Any other keyword is an axis,
  selected with ``--axis root=0,1``; a value that is a function is called with the number of PEs. ``pes`` are the
  default numbers of PEs.
* ``raise Skip("reason")`` if a point is not applicable: its row is shown with the reason.
* `Plan.limit` is a second statement over the same names: the fastest way to do the same work on this machine.
* `Ishmem` and `Mpi` (worlds.py) allocate the arrays and windows of a body, and free them after the row.

For each number of PEs, one job per library runs, both at the same time: ishmem run for ishmem, mpiexec for mpi4py. The
batches of the contenders alternate, so that ratios hold on a noisy machine.
"""

from ishmem.benchmarks.cases import Case, Plan, Skip, Wrong, case, values

__all__ = ["Case", "Plan", "Skip", "Wrong", "case", "values"]
