"""A PE of a group: prepares plans, runs their statements and checks the data, at requests of the runner.

``python -m ishmem.benchmarks.worker LIBRARY ADDRESS [FILE ...]``; the address is an abstract Unix socket or
``HOST:PORT``.
"""

from __future__ import annotations

import os
import sys
import timeit
import traceback
from multiprocessing.connection import Client, Connection
from typing import Any

from ishmem.benchmarks import suite
from ishmem.benchmarks.cases import CASES, Plan, Point, Skip, Wrong
from ishmem.benchmarks.worlds import WORLDS, World


class Worker:
    """Executes requests; a request is the name of a method here and its arguments."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._plan: Plan | None = None
        self._done = {"main": 0, "limit": 0}

    def prepare(self, key: str, point: Point) -> dict[str, Any]:
        """Run the body of the case with a key at a point; return what the runner needs of its plan, by name."""
        self._plan = CASES[key].bodies[self.world.library](self.world, **point)
        self._done = {"main": 0, "limit": 0}
        self.world.barrier()
        plan = self._given()
        sent = ("statement", "nbytes", "operations", "active", "limit", "limit_copies")
        counted = {which: plan.is_counted(which) for which in ("main", "limit")}
        return {**{name: getattr(plan, name) for name in sent}, "counted": counted}

    def run(self, which: str, number: int, batches: int) -> list[float]:
        """Run ``"main"``, the statement, or ``"limit"`` ``number`` times for each batch; return the seconds of each."""
        plan = self._given()
        statement = plan.statement if which == "main" else plan.limit or ""
        timer = timeit.Timer(statement, plan.setup, globals=plan.names)
        seconds = []
        for _ in range(batches):
            plan.names.update(done=self._done[which], count=number)
            if plan.active is None:
                self.world.barrier()
            seconds.append(timer.timeit(1 if plan.is_counted(which) else number))
            self._done[which] += number
        return seconds

    def verify(self, done: int) -> None:
        """Check the data after ``done`` operations on each active PE; raise `Wrong` if they are wrong."""
        self.world.barrier()
        check = self._given().check
        if check:
            check(done)

    def application(
        self, name: str, options: dict[str, Any], communicates: bool, check: bool, beside: bool
    ) -> tuple[float, float]:
        """Run application ``name``; return the seconds of the whole run and of communication on this PE.

        ``communicates``: with False, it only computes; ``check``: PE 0 checks the result; ``beside``: its host
        routines, `run_beside`, run instead.
        """
        from ishmem.examples.apps import MpiRun, Run, find

        app, world = find(name)(**options), self.world
        run = (Run if world.library == "ishmem" else MpiRun)(communicates)
        program = app.run_beside if beside else app.run if world.library == "ishmem" else app.run_mpi
        result = program(run)
        if check and world.pe == 0:
            app.check(result)
        world.barrier()
        world.release()
        return run.seconds, run.communication_seconds

    def release(self) -> None:
        """Free the arrays and windows of the plan; collective."""
        self._plan = None
        self.world.release()

    def _given(self) -> Plan:
        if self._plan is None:
            raise RuntimeError("no plan is prepared")
        return self._plan


def answer(worker: Worker, request: tuple[Any, ...]) -> tuple[str, Any]:
    """Execute a request; return ``ok``, ``skipped``, ``wrong`` or ``failed``, with the result or the reason."""
    try:
        return "ok", getattr(worker, request[0])(*request[1:])
    except Skip as reason:
        return "skipped", str(reason)
    except Wrong as reason:
        return "wrong", str(reason)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"


def serve(connection: Connection, world: World) -> None:
    """Send the runner PE, number of PEs and device, then execute its requests until it closes the connection."""
    connection.send((world.pe, world.n_pes, getattr(world, "device_of", lambda pe: "")(world.right)))
    worker = Worker(world)
    while True:
        try:
            request = connection.recv()
        except (EOFError, ConnectionError):
            break
        connection.send(answer(worker, request))
    world.close()


def main() -> None:
    """Run the worker with the arguments of the command line."""
    library, address, *files = sys.argv[1:]
    suite.load(tuple(files))
    world = WORLDS[library]()  # before connecting: initialising is collective, and connections are accepted one by one
    host, _colon, port = address.rpartition(":")
    where = (host, int(port)) if port.isdigit() else "\0" + address
    with Client(where, authkey=bytes.fromhex(os.environ["BENCH_KEY"])) as link:
        serve(link, world)


if __name__ == "__main__":
    main()
