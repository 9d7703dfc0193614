"""A PE of a `pes.Pool`: runs the functions that the test session names, until it closes the connection."""

from __future__ import annotations

import faulthandler
import importlib
import operator
import os
import sys
import traceback
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import pes

import ishmem
from ishmem.environment.launcher import launched


def serve(connection: Connection) -> None:
    by_mpi = launched(single=True)
    connection.send(by_mpi.rank if by_mpi else int(os.environ["ISHMEM_PE"]))
    ishmem.init()
    connection.send((True, None))
    while True:
        try:
            request = connection.recv()
        except EOFError:
            break
        try:
            connection.send(answer(request))
        except Exception:  # the result cannot be pickled
            connection.send((False, traceback.format_exc()))
    ishmem.finalize()


def answer(request: Any) -> tuple[bool, Any]:
    """Execute a request: ``(module, function, arguments, seconds)``, or None to free the symmetric heap."""
    try:
        if request is None:
            ishmem.free_all()
            return True, None
        module, name, arguments, seconds = request
        # Prints where a function hangs before the session's timeout.
        faulthandler.dump_traceback_later(0.9 * seconds)
        function = operator.attrgetter(name)(importlib.import_module(module))
        return True, function(*arguments)
    except BaseException:
        return False, traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.path += map(str, Path(__file__).parent.glob("*dpex"))  # folders of test modules
    with Client(os.environ[pes.ADDRESS], "AF_UNIX") as link:
        serve(link)
