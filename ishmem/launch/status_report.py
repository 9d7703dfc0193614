"""Prints where the PEs of a node are, when one of them does not answer and there is no ishmem run.

``python -m ishmem.launch.status_report BOARD NUMBERS REASON``: the path of the status board, the PE numbers of its
records, separated by commas, and ``interrupted`` or the limit that a PE has exceeded, in seconds.
"""

from __future__ import annotations

import fcntl
import sys
import time

from ishmem.common.status_board import StatusBoard

_ONCE = 5.0  # seconds in which one report serves all PEs that are interrupted


def main(arguments: list[str]) -> int:
    """Print the report, unless one of the other PEs has it printed."""
    path, listed, reason = arguments
    numbers = [int(number) for number in listed.split(",")]
    with open(path, "r+b") as file:
        board = StatusBoard.find(path, len(numbers))
        if board is None:
            return 1
        board.numbers = numbers
        fcntl.lockf(file, fcntl.LOCK_EX)
        lines = _interrupted(board) if reason == "interrupted" else _hanging(board, float(reason))
    if lines:
        print("\n".join(lines), file=sys.stderr)
    return 0


def _interrupted(board: StatusBoard) -> list[str]:
    if time.monotonic() < board.head.shown + _ONCE:
        return []
    board.head.shown = time.monotonic()
    lines = [f"  {line}" for line in board.table(range(board.n_pes))]
    words = "ishmem: SIGINT, but a PE does not answer; it ends at the next SIGINT, or in 10 s. The PEs are:"
    return [words, *lines]


def _hanging(board: StatusBoard, limit: float) -> list[str]:
    if board.head.hang:
        return []
    board.announce(limit)
    return [f"ishmem: {board.head.text}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
