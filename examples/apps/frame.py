"""What all applications share: how one is declared, and how it is run, timed, checked and drawn."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Callable, ClassVar

import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Wrong(Exception):
    """Raised by a check when a result differs from the reference."""


@dataclass
class Run:
    """A PE of one run of an application.

    Attributes:
        pe, n_pes: Its number and the number of PEs.
        barrier: Waits for all PEs.
        comm: The mpi4py communicator, in a run with mpi4py.
        communicates: False: leave the communication out, to measure the rest; see `App.fused`.
        shown: Show progress on the terminal.
        seconds: Time of all sections `timed`.
        communication_seconds: Time of the sections `communication` in them.
    """

    pe: int
    n_pes: int
    barrier: Callable[[], None]
    comm: Any = None
    communicates: bool = True
    shown: bool = False
    seconds: float = 0.0
    communication_seconds: float = 0.0

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


class App:
    """An application. A subclass is a frozen dataclass; its fields are the options of the command line.

    Attributes:
        name: Name of the module and on the command line.
        title: A few words for tables.
        fused: The kernels that compute communicate, too. The time in communication is then that of the whole without
            that of a run whose `Run.communicates` is false.
        beside: The host routines by which `run_beside` does the same, if the application has it.
        forms: The values of its option ``form``, the default first, if it has several forms.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    fused: ClassVar[bool] = False
    beside: ClassVar[str] = ""
    forms: ClassVar[tuple[str, ...]] = ()

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
        """Run the same algorithm with mpi4py on ``run.comm``; return the same result. Collective."""
        return importlib.import_module(f"ishmem.examples.apps.mpi.{self.name}").program(self, run)

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


def gathered(part: Any, counts: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return the first ``counts[j]`` rows of symmetric array ``part`` on each PE ``j``, one after another.

    Not collective: a barrier comes before, when the rows are complete, and another one before they change.
    """
    rows = [np.empty((count, *part.shape[1:]), part.dtype) for count in counts]
    for pe, one in enumerate(rows):
        if one.size:
            ishmem.get(one, part[: len(one)], pe)
    return np.concatenate(rows)


def shared(shape: Any, dtype: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return a dpnp array of zeros for kernels and a numpy array of the same memory, for mpi4py without copies."""
    import dpnp

    array = dpnp.zeros(shape, dtype=dtype, usm_type="host")
    return array, np.asarray(memoryview(array.get_array().usm_data)).view(dtype).reshape(shape)


def launch(kernel: Any, items: int, *arguments: Any) -> None:
    """Run a kernel of ``items`` independent work-items and wait for it; do nothing if there are none."""
    if items:
        dpex.call_kernel(kernel, kapi.Range(items), *arguments)


def require(good: Any, words: str) -> None:
    """Raise `Wrong` with these words unless ``good`` is true."""
    if not good:
        raise Wrong(words)
