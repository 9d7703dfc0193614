"""The program of a PE of `ishmem.testing.Pes`: receives requests and calls their functions."""

from __future__ import annotations

import sys

import ishmem
from ishmem.testing.function_calls import call
from ishmem.testing.link import connected
from ishmem.testing.messages import FREE, FunctionCall


def _answer(request: FunctionCall | str) -> object:
    if isinstance(request, FunctionCall):
        return call(request)
    assert request == FREE
    ishmem.free_all()
    return None


def main() -> None:
    """Initialise ishmem, serve requests until there are no more, and finalise."""
    with connected() as link:
        sys.path += [folder for folder in link.setup if folder not in sys.path]
        ishmem.init()
        link.ready()
        link.serve(_answer)
        ishmem.finalize()


if __name__ == "__main__":
    main()
