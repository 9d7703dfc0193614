"""Exceptions that a program does not catch: told once for each job, without the frames of ishmem."""

from __future__ import annotations

import re

import pytest
from subprocesses import run_program

START = """
import sys
import ishmem

ishmem.init()
a = ishmem.zeros(4, dtype="i8")
me = ishmem.my_pe()
"""


def told(program: str, n: int = 3, **env: str) -> tuple[str, list[list[str]]]:
    """Run a program; return what it says on stderr, and the lines of each PE."""
    done = run_program(START + program, n, env=env)
    assert done.returncode == 1, done
    marks = [f"[{pe}] " for pe in range(n)]
    lines = done.stderr.splitlines()
    return done.stderr, [[line[len(mark) :] for line in lines if line.startswith(mark)] for mark in marks]


def errors(lines: list[str]) -> list[str]:
    """Return the lines that are no report of memory that was not freed."""
    return [line for line in lines if "never freed" not in line and not line.startswith("  ")]


def test_the_pe_that_fails_tells_it() -> None:
    text, lines = told("if me == 1:\n    ishmem.put(a, a, 99)\nishmem.barrier_all()")
    assert errors(lines[1])[0] == "Traceback (most recent call last):", text
    assert errors(lines[1])[-1] == "IndexError: pe is 99; PEs are numbered 0 to 2", text
    assert "    ishmem.put(a, a, 99)" in lines[1], text
    assert not re.search(r"rma\.py|check\.py", text), text
    for pe in (0, 2):
        assert re.fullmatch(
            rf"ishmem\.common\.errors\.PeerLost: barrier_all on PE {pe}: PE 1 is gone \(.*\) \(.*program\.py:10\)",
            "\n".join(errors(lines[pe])),
        ), text


def test_a_failure_of_all_pes_is_told_once() -> None:
    """A PE that is still in `zeros` when another one fails has lost that PE."""
    for program, words in (
        ("ishmem.zeros(4 + me)", "SymmetryError: zeros: the PEs disagree"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("ishmem.g(a, 1, 77)", "IndexError: index is 77; source has the elements 0 to 3"),
    ):
        text, lines = told(program)
        assert text.count("Traceback (most recent call last):") == 1, text
        lost = text.count("PeerLost: zeros on PE")
        assert text.count("as on another PE: ") == 2 - lost, text
        assert text.count(words.partition(": ")[2]) == 3 - lost, text
        assert all(len(errors(each)) <= 4 for each in lines), text


def test_different_failures_are_all_told() -> None:
    text, _lines = told("raise ValueError(f'mine is {me}')")
    assert text.count("Traceback (most recent call last):") == 3, text


def test_debug_shows_all_frames() -> None:
    text, _lines = told("ishmem.g(a, 0, 77)", 1, ISHMEM_DEBUG="1")
    assert "rma.py" in text, text


def test_the_hook_of_a_program_prints() -> None:
    text, _lines = told("sys.excepthook = lambda kind, *_: print('mine', kind.__name__, file=sys.stderr)\n1 / 0", 2)
    assert text.count("mine ZeroDivisionError") == 2, text


STAYS = """
import atexit, threading
if WAY == "thread":
    threading.Thread(target=threading.Event().wait).start()
else:
    atexit.register(threading.Event().wait)
"""


@pytest.mark.slow_cases("thread-raise", "thread-exit")
@pytest.mark.slow_cases("the same with a thread", "handler-")
@pytest.mark.slow_cases("the same in a job", "thread-finalize-")
@pytest.mark.slow_cases("the same without with", "thread-with-")
@pytest.mark.parametrize(
    ("way", "failure", "status"),
    [
        ("thread", "raise ValueError('no')", 1),
        ("handler", "raise ValueError('no')", 1),
        ("thread", "sys.exit(7)", 7),
        ("thread", "ishmem.finalize(); raise ValueError('no')", 1),
        ("thread", "with ishmem.init(): sys.exit(7)", 7),
    ],
    ids=["thread-raise", "handler-raise", "thread-exit", "thread-finalize-raise", "thread-with-exit"],
)
def test_failed_programs_whose_processes_stay(way: str, failure: str, status: int) -> None:
    done = run_program(f"WAY = {way!r}\n{START}ishmem.free(a)\n{STAYS}ishmem.barrier_all()\n{failure}", 2)
    assert done.returncode == status, done
    assert "ishmem run: not ended within 3 s: PE 0, 1; ending it" in done.stderr, done


def test_a_program_that_catches_its_exception_goes_on() -> None:
    """Code that calls the hook for an exception, such as a prompt, does not end the job either."""
    program = """
import time
try:
    1 / 0
except ZeroDivisionError as error:
    sys.excepthook(type(error), error, error.__traceback__)
time.sleep(5)
ishmem.barrier_all()
print("goes on")
ishmem.free(a)
ishmem.finalize()
"""
    done = run_program(START + program, 2)
    assert done.returncode == 0, done
    assert done.stdout.count("goes on") == 2, done
