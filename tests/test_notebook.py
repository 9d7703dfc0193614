"""The cell magic ``%%ishmem``; the notebooks of the documentation, which use it, are run by test_docs.py."""

from __future__ import annotations

import pytest

from ishmem import notebook


def test_a_cell_that_fails_is_an_error_of_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match="the job ended with status 3"):
        notebook.run_cell("-n 2", "print('in a cell')\nraise SystemExit(3)")
    assert "] in a cell" in capfd.readouterr().out  # of the PE that ends first, at least


def test_options_are_those_of_ishmrun(capfd: pytest.CaptureFixture[str]) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError):
        notebook.run_cell("-n zero", "")
    assert "got 'zero', allowed: a whole number" in capfd.readouterr().out
