"""PEs that live as long as a test session and run one function after the other."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from ishmem.testing.function_calls import describe
from ishmem.testing.pe_job import Answers, PeJob, PeJobSpec


class PesError(Exception):
    """A function failed on at least one PE; the text has the error of each such PE and the output of all."""


class Pes:
    """N PEs, with ishmem initialised, that run functions; to start a PE, or to compile a kernel, takes about a second.

    A failure ends the PEs; the next `run` starts new ones. The end of the object's ``with`` block ends them, too.

    Example:
        >>> with Pes(2) as pes:
        ...     pes.run(operator.add, 1, 2)
        [3, 3]
    """

    def __init__(self, n: int, env: Mapping[str, str] | None = None, nodes: Sequence[int] | None = None) -> None:
        """Store the parameters of the PEs; the first `run` starts them.

        Args:
            n: Their number.
            env: Environment variables in addition to those of this process.
            nodes: Number of PEs on each of several emulated nodes, connected by MPI (see `ishmem.testing.nodes`); None:
                all PEs are on this node.

        Raises:
            ValueError: ``nodes`` does not add up to ``n``, or a number is below 1.
        """
        if n < 1 or (nodes is not None and (sum(nodes) != n or min(nodes) < 1)):
            got = f"n={n}" if nodes is None else f"n={n}, nodes={list(nodes)}"
            raise ValueError(f"got {got}, allowed: at least 1 PE, and numbers of PEs on nodes that add up to n")
        self.n, self.nodes = n, nodes
        self._env = dict(env or {})
        self._job: PeJob | None = None

    def run(self, function: Callable[..., Any], *args: Any, timeout: float = 300) -> list[Any]:
        """Run a function on every PE, and return the results in the order of the PEs; blocks.

        Symmetric memory that the function leaves is freed. Arguments and results are pickled.

        Args:
            function: A function of a module, which the PEs import.
            args: Its arguments.
            timeout: Limit in seconds, from the time at which the PEs have started.

        Raises:
            PesError: The function has failed on a PE, a PE has died, or the timeout has passed.
            ValueError: The PEs cannot import the function.
        """
        request = describe(function, args)
        job = self._running()
        try:
            results = _results(job.ask(request, timeout))
            _results(job.free(timeout))
        except BaseException:
            self._kill()
            raise
        return results

    def stop(self) -> None:
        """End the PEs, and warn if their job fails at its end."""
        job, self._job = self._job, None
        if job and (words := job.finish()):
            warnings.warn(f"the job of {self.n} PEs: {words}", RuntimeWarning, stacklevel=2)

    def __enter__(self) -> Pes:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _running(self) -> PeJob:
        """Return the job of these PEs; start it if none runs."""
        if self._job is None:
            environment = {**os.environ, **self._env}
            spec = PeJobSpec(self.n, "ishmem.testing.function_pe", list(sys.path), environment, self.nodes)
            self._job = PeJob(spec)
        return self._job

    def _kill(self) -> None:
        """End the job after a failure."""
        job, self._job = self._job, None
        if job:
            job.kill()


def _results(answers: Answers) -> list[Any]:
    if answers.problems:
        failures = [f"--- PE {pe} {text}" for pe, text in sorted(answers.problems.items())]
        raise PesError("\n".join(["failed", *failures, "--- output of the PEs", answers.output]))
    return [answers.results[pe] for pe in range(answers.n)]
