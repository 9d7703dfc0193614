"""A PE's connection to the process that has started it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from ishmem.environment.mpi_variables import launched
from ishmem.testing.messages import ADDRESS, Reply, RequestFailure

TELL = signal.SIGUSR2
"""Signal on which a PE writes its Python stack to its file."""


class Link:
    """This PE's connection; ``setup`` is what the starting process has sent first, ``pe`` the number of this PE."""

    def __init__(self, connection: Connection, pe: int) -> None:
        """Send ``pe``, the number of this PE, through ``connection``, and receive the setup."""
        self._connection, self.pe = connection, pe
        connection.send(pe)
        self.setup: Any = connection.recv()

    def report(self, value: Any, failed: bool) -> None:
        """Send ``value``, a part of the answer, before the result; ``failed`` is whether it reports a failure."""
        self._connection.send(Reply(False, failed, value))

    def ready(self) -> None:
        """Report that this PE awaits requests."""
        self._connection.send(Reply(True, False, None))

    def serve(self, answer: Callable[[Any], Any]) -> None:
        """Send the result or error of ``answer`` for each request, until the starting process ends or sends None."""
        while (request := self._request()) is not None:
            try:
                self._connection.send(Reply(True, False, answer(request)))
            except RequestFailure as failure:
                self._connection.send(Reply(True, True, str(failure)))
            except BaseException:  # of the function, or of a result that cannot be pickled
                self._connection.send(Reply(True, True, traceback.format_exc()))

    def _request(self) -> Any:
        try:
            return self._connection.recv()
        except EOFError:
            return None


@contextlib.contextmanager
def connected() -> Iterator[Link]:
    """Yield this PE's connection to the test; on signal `TELL` the PE writes its Python stack to file ``place<PE>``."""
    address, pe = Path(os.environ.pop(ADDRESS)), _number()
    with Client(str(address), "AF_UNIX") as connection, address.with_name(f"place{pe}").open("w") as place:
        faulthandler.register(TELL, file=place, all_threads=False)
        yield Link(connection, pe)


def _number() -> int:
    """Return the number of this PE, as ishmem run or mpiexec has set it."""
    by_mpi = launched(single=True) if "ISHMEM_PE" not in os.environ else None
    return by_mpi.rank if by_mpi and by_mpi.rank is not None else int(os.environ["ISHMEM_PE"])
