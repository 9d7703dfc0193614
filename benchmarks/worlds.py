"""The argument of a body: a PE in a job of one library, with its neighbours and its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Check, Skip, Wrong, values

FIRST = (0,)
"""The active PEs of most cases."""
PEERS = ("mpi4py",)
"""The libraries with which ishmem is compared."""


def nothing(*_arguments: Any) -> None:
    """Do nothing; called to measure the cost of a Python call."""


def to_host(array: Any) -> Any:
    """Return a numpy array with the elements of an array of any kind."""
    if hasattr(array, "asnumpy"):
        return array.asnumpy()
    if hasattr(array, "usm_data"):
        from ishmem.environment.arrays import tensor

        return tensor.asnumpy(array)
    return array


class World:
    """A PE.

    Attributes:
        library: The name of the library.
        pe: The number of the PE.
        n_pes: The number of PEs.
        right: The next PE, cyclically, to which this one sends.
        left: The previous PE, which sends to this one.
    """

    library = ""

    def __init__(self, pe: int, n_pes: int) -> None:
        self.pe, self.n_pes = pe, n_pes
        self.right, self.left = (pe + 1) % n_pes, (pe - 1) % n_pes

    def barrier(self) -> None:
        """Wait until all PEs have called; collective."""

    def release(self) -> None:
        """Free the arrays and windows that the bodies have allocated; collective."""

    def close(self) -> None:
        """Leave the job; collective."""

    def names(self, **more: Any) -> dict[str, Any]:
        """Return the namespace of a statement: the library, the right neighbour as ``pe``, and ``more``."""
        return {"pe": self.right, **more}

    def either(self, own: str, peer: str) -> str:
        """Return the statement of ishmem or that of its peer."""
        return own if self.library == "ishmem" else peer

    def received(self, active: tuple[int, ...] | None) -> bool:
        """Return whether this PE is the right neighbour of one of the active PEs; None: all are active."""
        return active is None or self.left in active

    def sent(self, active: tuple[int, ...] | None) -> bool:
        """Return whether this PE is one of the active PEs; None: all are active."""
        return active is None or self.pe in active

    def copied(
        self, array: Any, size: int, puts: bool, active: tuple[int, ...] | None = FIRST, step: int = 1
    ) -> Check:
        """Return the check of copies of every ``step``-th element of ``size`` bytes by the active PEs.

        ``array`` has the left neighbour's values after its put (``puts``), or the right one's after a get by this PE;
        all other elements are zero.
        """
        wanted = np.zeros_like(values(size, 0))
        if self.received(active) if puts else self.sent(active):
            wanted[::step] = values(size, self.left if puts else self.right)[::step]
        return lambda done: self.expect(array, wanted)

    def counted(self, array: Any) -> Check:
        """Return the check that an array of one element counts the operations of PE 0 on its right neighbour."""
        return lambda done: self.expect(array, np.array([done if self.received(FIRST) else 0]))

    def expect(self, seen: Any, wanted: np.ndarray[Any, Any]) -> None:
        """Raise `Wrong`, which names the first difference, if the elements of array ``seen`` are not ``wanted``."""
        array = np.asarray(to_host(seen)).reshape(-1)
        if not np.array_equal(array, wanted):
            bad = np.flatnonzero(array != wanted)
            first = int(bad[0]) if bad.size else 0
            raise Wrong(
                f"PE {self.pe}: {bad.size} of {wanted.size} elements are wrong; "
                f"element {first} is {array[first]}, not {wanted[first]}"
            )


class Ishmem(World):
    """A PE of an ishmem job."""

    library = "ishmem"

    def __init__(self, joined: bool = False) -> None:
        """Initialise ishmem, unless this process has done so (``joined``)."""
        if not joined:
            ishmem.init()
        super().__init__(ishmem.my_pe(), ishmem.n_pes())

    def barrier(self) -> None:
        ishmem.barrier_all()

    def release(self) -> None:
        ishmem.free_all()

    def close(self) -> None:
        ishmem.finalize()

    def names(self, **more: Any) -> dict[str, Any]:
        return super().names(ishmem=ishmem, nothing=nothing, **more)

    def far(self, nbytes: int, filled: bool) -> Any:
        """Return the array that the left neighbour copies from or into, with test data or zeros."""
        return self.filled(nbytes) if filled else self.blank(nbytes)

    def filled(self, nbytes: int) -> Any:
        """Return a symmetric array of ``nbytes`` bytes with this PE's test data."""
        return ishmem.array(values(nbytes, self.pe))

    def blank(self, nbytes: int) -> Any:
        """Return a symmetric array of zeros with ``nbytes`` bytes: int64, or uint8 if not a multiple of 8 bytes."""
        return ishmem.zeros(nbytes, dtype="uint8") if nbytes % 8 else ishmem.zeros(nbytes // 8, dtype="int64")

    def host_view(self, array: Any, pe: int) -> memoryview:
        """Return a view of the bytes of a symmetric array on PE ``pe``, for loads and stores by the host."""
        from ishmem.runtime import job

        heap = job.current().heap
        return heap.host_view(pe, array.get_array()._pointer - heap.base, array.nbytes)

    def usm_at(self, array: Any, pe: int) -> Any:
        """Return the USM memory of a symmetric array on PE ``pe``, for SYCL copies; raise `Skip` if not reachable."""
        view = ishmem.ptr(array, pe)
        if view is None:
            raise Skip(f"PE {pe} is not reachable by load and store")
        return view.get_array().usm_data

    def spans_nodes(self) -> bool:
        """Return whether the PEs are on several nodes."""
        from ishmem.runtime import job

        return job.current().network is not None

    def device_of(self, pe: int) -> str:
        """Return the name of this PE's device; ``pe`` has no effect."""
        from ishmem.runtime import job

        return str(job.current().heap.queue.sycl_device.name)


class Mpi(World):
    """A rank of MPI_COMM_WORLD."""

    library = "mpi4py"

    def __init__(self) -> None:
        from mpi4py import MPI

        self.MPI, self.comm = MPI, MPI.COMM_WORLD
        self._windows: list[Any] = []
        super().__init__(self.comm.Get_rank(), self.comm.Get_size())

    def barrier(self) -> None:
        self.comm.Barrier()

    def names(self, **more: Any) -> dict[str, Any]:
        return super().names(comm=self.comm, MPI=self.MPI, window=[None, *self._windows][-1], **more)

    def far(self, nbytes: int, filled: bool) -> np.ndarray[Any, Any]:
        """Return the memory of a new window, with test data or zeros; the left neighbour copies from or into it."""
        return self.window(nbytes, values(nbytes, self.pe) if filled else None)[1]

    def filled(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Return an array of ``nbytes`` bytes with this PE's test data."""
        return values(nbytes, self.pe)

    def blank(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Return an array of zeros with ``nbytes`` bytes."""
        return np.zeros_like(values(nbytes, 0))

    def window(self, nbytes: int, values: np.ndarray[Any, Any] | None = None) -> tuple[Any, np.ndarray[Any, Any]]:
        """Return a window, locked on all ranks, and its memory with ``values`` or zeros, as for `Ishmem.blank`."""
        window = self.MPI.Win.Allocate(max(nbytes, 8), comm=self.comm)
        memory = np.asarray(window.tomemory())[:nbytes].view("int64" if nbytes % 8 == 0 else "uint8")
        memory[:] = 0 if values is None else values
        window.Lock_all()
        self.comm.Barrier()
        self._windows.append(window)
        return window, memory

    def release(self) -> None:
        for window in self._windows:
            window.Unlock_all()
            window.Free()
        self._windows.clear()


class Local(World):
    """The process of ``ishmem bench`` itself, which runs whole programs."""

    library = "local"

    def __init__(self, n_pes: int) -> None:
        super().__init__(0, n_pes)


WORLDS: dict[str, Any] = {world.library: world for world in (Ishmem, Mpi)}
"""The class of each library, by its name."""
