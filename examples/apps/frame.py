"""What all applications share: how one is declared, and how it is run, timed, checked and drawn."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Wrong(Exception):
    """Raised by a check when a result differs from the reference."""


class Run:
    """A PE of one run of an application, and what a program needs of its library: `MpiRun` has the same.

    The routines for arrays are collective, and take whole arrays of `zeros`.

    Attributes:
        pe, n_pes: Its number and the number of PEs.
        comm: The mpi4py communicator, in a run with mpi4py.
        communicates: False: leave the communication out, to measure the rest; see `App.fused`.
        shown: Show progress on the terminal.
        seconds: Time of all sections `timed`.
        communication_seconds: Time of the sections `communication` in them.
    """

    comm: Any = None

    def __init__(self, communicates: bool = True, shown: bool = False) -> None:
        self.pe, self.n_pes = self.place()
        self.communicates, self.shown = communicates, shown
        self.seconds = self.communication_seconds = 0.0

    def place(self) -> tuple[int, int]:
        """Return the number of this PE and the number of PEs."""
        return ishmem.my_pe(), ishmem.n_pes()

    def barrier(self) -> None:
        """Wait for all PEs. Collective."""
        ishmem.barrier_all()

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Return a symmetric array of zeros; with mpi4py, one in memory that host and kernels reach. Collective."""
        return ishmem.zeros(shape, dtype=dtype)

    def view(self, array: Any) -> np.ndarray[Any, Any]:
        """Return a numpy array of the memory of an array."""
        return ishmem.host_view(array)

    def fcollect(self, dest: Any, source: Any) -> None:
        """Collect the arrays of all PEs on each."""
        ishmem.fcollect(dest, source)

    def gather(self, dest: Any, source: Any, root: int) -> None:
        """Gather the row ``root`` of ``source`` of each PE on PE ``root``."""
        ishmem.gather(dest, source[root], root)

    def alltoall(self, dest: Any, source: Any) -> None:
        """Exchange a block between each pair of PEs."""
        ishmem.alltoall(dest, source)

    def alltoallv(self, dest: Any, source: Any, arrive: list[int], leave: list[int], team: Any = None) -> None:
        """Exchange blocks of so many elements between the PEs of a team of `split_2d`, or all."""
        ishmem.alltoallv(dest, source, arrive, leave, team=team or ishmem.TEAM_WORLD)

    def split_2d(self, wide: int) -> tuple[Any, Any]:
        """Return the teams of this PE's row and column in a grid of ``wide`` columns. Collective."""
        return ishmem.TEAM_WORLD.split_2d(wide)

    def gathered(self, part: Any, counts: Sequence[int]) -> Any:
        """Return the first ``counts[j]`` rows of the array on each PE ``j``, on PE 0 at least. Collective.

        ``part`` is an array of `zeros` or a numpy array of the same size on all PEs; it may change after the next
        barrier only.
        """
        there = ishmem.array(part) if isinstance(part, np.ndarray) else part
        self.barrier()
        rows = [np.empty((count, *part.shape[1:]), part.dtype) for count in counts]
        for pe, one in enumerate(rows):
            if one.size:
                ishmem.get(one, there[: len(one)], pe)
        return np.concatenate(rows)

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Time a section that all PEs begin and end together. Collective."""
        self.barrier()
        start = time.perf_counter()
        yield
        self.barrier()
        self.seconds += time.perf_counter() - start

    @contextlib.contextmanager
    def communication(self) -> Iterator[None]:
        """Count the time of a section as communication."""
        start = time.perf_counter()
        yield
        self.communication_seconds += time.perf_counter() - start

    def steps(self, steps: Any, words: str) -> Any:
        """Return an iterable of the same steps; on PE 0, if `shown`, it shows a progress bar with ``words``."""
        if not self.shown or self.pe:
            return steps
        try:
            from tqdm import tqdm
        except ImportError:  # installed without the extra
            return steps
        return tqdm(steps, words, ncols=80)


class MpiRun(Run):
    """A rank of MPI_COMM_WORLD, in a run with mpi4py."""

    def place(self) -> tuple[int, int]:
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD
        self._views: dict[int, Any] = {}
        return self.comm.rank, self.comm.size

    def barrier(self) -> None:
        self.comm.Barrier()

    def zeros(self, shape: Any, dtype: Any) -> Any:
        import dpnp

        array = dpnp.zeros(shape, dtype=dtype, usm_type="host")
        view = np.asarray(memoryview(array.get_array().usm_data)).view(dtype).reshape(shape)
        self._views[id(array)] = view, array  # the array, too: no other one gets its id
        return array

    def view(self, array: Any) -> np.ndarray[Any, Any]:
        view: np.ndarray[Any, Any] = self._views[id(array)][0]
        return view

    def complete(self, array: Any) -> np.ndarray[Any, Any]:
        """Wait for the kernels that write to an array, which MPI does not know; return the numpy array."""
        array.sycl_queue.wait()
        return self.view(array)

    def fcollect(self, dest: Any, source: Any) -> None:
        self.comm.Allgather(self.complete(source), self.view(dest))

    def gather(self, dest: Any, source: Any, root: int) -> None:
        self.comm.Gather(self.complete(source)[root], self.view(dest), root)

    def alltoall(self, dest: Any, source: Any) -> None:
        self.comm.Alltoall(self.complete(source), self.view(dest))

    def alltoallv(self, dest: Any, source: Any, arrive: list[int], leave: list[int], team: Any = None) -> None:
        (team or self.comm).Alltoallv((self.complete(source), leave), (self.view(dest), arrive))

    def split_2d(self, wide: int) -> tuple[Any, Any]:
        return self.comm.Split(self.pe // wide, self.pe), self.comm.Split(self.pe % wide, self.pe)

    def gathered(self, part: Any, counts: Sequence[int]) -> Any:
        mine = part[: counts[self.pe]]
        whole = self.comm.gather(mine.asnumpy() if hasattr(mine, "asnumpy") else mine.copy())
        return np.concatenate(whole) if whole else None


class App:
    """An application. A subclass is a frozen dataclass; its fields are the options of the command line.

    Attributes:
        name: Name of the module and on the command line.
        title: A few words for tables.
        fused: The kernels that compute communicate, too. The time in communication is then that of the whole without
            that of a run whose `Run.communicates` is false.
        beside: The host routines by which `run_beside` does the same, if the application has it.
        forms: The values of its option ``form``, the default first, if it has several forms.
        differs: The program with mpi4py is another one: that of the module of the same name in ``mpi``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    fused: ClassVar[bool] = False
    beside: ClassVar[str] = ""
    forms: ClassVar[tuple[str, ...]] = ()
    differs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the options that name one of some ways."""
        for one in fields(self):  # type: ignore[arg-type]
            value, allowed = getattr(self, one.name), one.metadata["allowed"]
            if allowed and value not in allowed:
                words = f"{', '.join(allowed[:-1])} and {allowed[-1]}"
                raise ValueError(f"--{one.name} is {value!r}; allowed are {words}")

    @classmethod
    def small(cls) -> list[App]:
        """Return small problems for the tests, whose sizes do not divide by the number of PEs."""
        raise NotImplementedError

    @classmethod
    def scaled(cls, n: int) -> App:
        """Return the problem that is measured: for ``n`` PEs, ``n`` times the work of the one for one PE."""
        raise NotImplementedError

    def run(self, run: Run) -> Any:
        """Run with ishmem; return the result, on PE 0 at least. Collective."""
        raise NotImplementedError

    def run_mpi(self, run: Run) -> Any:
        """Run the same algorithm with mpi4py, the same program if there is no other; return the same. Collective."""
        if self.differs:
            return importlib.import_module(f"ishmem.examples.apps.mpi.{self.name}").program(self, run)
        return self.run_beside(run) if self.beside else self.run(run)

    def run_beside(self, run: Run) -> Any:
        """Compute the same with the routines `beside`; return the same result. Collective."""
        raise NotImplementedError

    def check(self, result: Any) -> str:
        """Compare a result with the reference; return what was compared, in a few words.

        Raises:
            Wrong: The result is wrong.
        """
        raise NotImplementedError

    def draw(self, figure: Figure, result: Any, run: Run) -> None:
        """Draw a result of ``run`` into a figure of matplotlib."""
        raise NotImplementedError


def option(default: Any, words: str, allowed: tuple[str, ...] = ()) -> Any:
    """Return a field of an application: an option with its default, its help, and its allowed values if not all are."""
    return field(default=default, metadata={"help": words, "allowed": allowed})


class Blocks:
    """``total`` things in blocks of equal size, one for each PE; the last blocks may have fewer things, or none.

    Attributes:
        size: Things in a full block: thing ``i`` belongs to PE ``i // size``.
        counts: Things of each PE.
    """

    def __init__(self, total: int, n_pes: int) -> None:
        self.size = self.size_of(total, n_pes)
        self.counts = [min(max(total - pe * self.size, 0), self.size) for pe in range(n_pes)]

    @staticmethod
    def size_of(total: int, n_pes: int) -> int:
        """Return how many of ``total`` things a full block has, at least 1."""
        return max(-(-total // n_pes), 1)

    def part(self, pe: int) -> slice:
        """Return the things of a PE as a slice of all."""
        return slice(pe * self.size, pe * self.size + self.counts[pe])


def launch(kernel: Any, items: int, *arguments: Any) -> None:
    """Run a kernel of ``items`` independent work-items and wait for it; do nothing if there are none."""
    if items:
        dpex.call_kernel(kernel, kapi.Range(items), *arguments)


def require(good: Any, words: str) -> None:
    """Raise `Wrong` with these words unless ``good`` is true."""
    if not good:
        raise Wrong(words)
