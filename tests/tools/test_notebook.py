"""The cell magic ``%%ishmem``; the notebooks of the documentation, which use it, are run by test_docs.py."""

from __future__ import annotations

import pytest

from ishmem import notebook


def test_a_cell_that_fails_is_an_error_of_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match="the job ended with status 3"):
        notebook.run_cell("-n 2", "print('in a cell')\nraise SystemExit(3)")
    assert "] in a cell" in capfd.readouterr().out  # of the PE that ends first, at least


@pytest.mark.parametrize("start", ["", "import ishmem\nishmem.init()\n"])
def test_a_traceback_has_the_lines_of_the_cell_only(capfd: pytest.CaptureFixture[str], start: str) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match="the job ended with status 1"):
        notebook.run_cell("-n 1 --no-prefix", f"{start}def broken():\n    return 1 / 0\n\nbroken()")
    out = capfd.readouterr().out
    frames = [line for line in out.splitlines() if line.startswith("  File ")]
    assert len(frames) == 2 and all("cell.py" in line for line in frames), out
    assert "ZeroDivisionError: division by zero" in out


def test_options_are_those_of_ishmem_run(capfd: pytest.CaptureFixture[str]) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError):
        notebook.run_cell("-n zero", "")
    assert "got 'zero', allowed: a whole number" in capfd.readouterr().out
