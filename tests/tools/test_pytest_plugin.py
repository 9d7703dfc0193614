"""The pytest plugin: sessions of pytest with tests marked ``ishmem``, run as a user runs them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import ishmem
from ishmem.testing import Pes, PesError, reports

pytest_plugins = ["pytester"]

PASSING = """
    import os

    import ishmem
    import numpy as np
    import pytest

    pytestmark = pytest.mark.ishmem(npes=[1, 2])
    shared = {}


    @pytest.fixture(scope="module")
    def board():
        board = ishmem.zeros(4, dtype="i8")
        yield board
        ishmem.free(board)


    @pytest.fixture
    def right(ishmem_npes):
        return (ishmem.my_pe() + 1) % ishmem_npes


    def test_pes(ishmem_npes):
        assert ishmem.n_pes() == ishmem_npes
        print("hello from", ishmem.my_pe())


    @pytest.mark.parametrize("value", [3, 4])
    def test_put(board, right, value):
        ishmem.put(board[:2], np.array([value, ishmem.my_pe()]), right)
        ishmem.barrier_all()
        assert board.asnumpy()[0] == value
        shared[ishmem.n_pes()] = board


    class TestClass:
        def test_module_fixtures_stay(self, board):
            assert shared[ishmem.n_pes()] is board

        def test_leaves_memory(self):
            shared["left"] = ishmem.zeros(1000)

        def test_memory_is_freed(self):
            assert not ishmem.is_symmetric(shared["left"])


    @pytest.mark.skip(reason="never")
    def test_skipped():
        assert False


    def test_skips_itself():
        pytest.skip("not today")


    @pytest.mark.ishmem(npes=2, init=False)
    def test_program(tmp_path):
        with ishmem.init():
            assert ishmem.n_pes() == 2
        (tmp_path / "mine").write_text("x")


    class TestNotMarkedElsewhere:
        pytestmark = pytest.mark.ishmem(2)

        def test_one_number(self, ishmem_npes):
            assert ishmem_npes == ishmem.n_pes() == 2


    pids = set()


    @pytest.mark.ishmem(2, env={"ISHMEM_CHECK": "1", "MINE": "5"})
    @pytest.mark.parametrize("number", [1, 2])
    def test_env(number):
        assert os.environ["MINE"] == "5" and os.environ["ISHMEM_CHECK"] == "1"
        pids.add(os.getpid())
        assert len(pids) == 1


    @pytest.mark.ishmem
    def test_usual_numbers(ishmem_npes):
        assert "MINE" not in os.environ
        assert ishmem_npes in (1, 3)


    def number(of):
        return ishmem.my_pe() * of


    @pytest.mark.ishmem([2, 3])
    def test_results(ishmem_pes):
        assert ishmem_pes.run(number, 10) == [10 * pe for pe in range(ishmem_pes.n)]
        assert not os.environ.get("ISHMEM_PE")
"""


@pytest.mark.slow("test_tests_that_fail")
def test_tests_that_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PASSING)
    done = pytester.runpytest_subprocess("-rA", "-p", "no:cacheprovider", "--strict-markers", "-o", "ishmem_npes=1,3")
    # 2 numbers of PEs for 8 tests and 2 skips; one number for 2 tests, and for 2 with settings.
    done.assert_outcomes(passed=20, skipped=4)
    done.stdout.fnmatch_lines(["*hello from 1*"])
    done.stdout.fnmatch_lines(["*PASSED*::test_put[[]2pes-3]", "*SKIPPED*not today*"], consecutive=False)


@pytest.mark.slow("`make test`, which has workers")
def test_workers_of_xdist_pass_the_options_on(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--mine')")
    pytester.makepyfile("""
        import ishmem
        import pytest

        @pytest.mark.ishmem(npes=2)
        @pytest.mark.parametrize("number", [1, 2])
        def test_it(request, number):
            assert request.config.getoption("mine") == "5"
            assert ishmem.n_pes() == 2
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2", "--mine", "5")
    done.assert_outcomes(passed=2)


FAILING = """
    import os
    import ishmem
    import pytest

    pytestmark = pytest.mark.ishmem(npes=2)


    def test_fails_on_one():
        me = ishmem.my_pe()
        seen = [10, 20]
        if me == 1:
            assert seen == [10, 20 + me]
        ishmem.barrier_all()


    def test_dies():
        ishmem.barrier_all()
        print("the last words of", ishmem.my_pe())
        if ishmem.my_pe() == 1:
            os._exit(7)
        ishmem.barrier_all()


    @pytest.mark.ishmem(npes=2, timeout=3)
    def test_hangs():
        flag = ishmem.zeros(1, dtype="i8")
        ishmem.wait_until(flag, ishmem.CMP_EQ, 1 - ishmem.my_pe())  # never true on PE 0


    @pytest.fixture
    def broken():
        raise LookupError("no such thing")


    def test_setup_fails_on_all(broken):
        pass


    def test_after_all_that():
        ishmem.barrier_all()
"""


def test_tests_that_fail(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=3, errors=1)
    text = done.stdout.str()
    done.stdout.fnmatch_lines(["--- PE 1 of 2", "*assert seen == [[]10, 20 + me]", "*At index 1 diff: 20 != 21"])
    assert "PE 0 has not finished 3 s after the failure" in text  # it was in the barrier
    assert "in test_fails_on_one" in text
    done.stdout.fnmatch_lines(["--- PE 1 of 2", "PE 1 died", "*ishmem run: PE 1*status 7*"])
    done.stdout.fnmatch_lines(["PE 1 died", "--- it had printed:", "the last words of 1", "--- PE 0 of 2"])
    done.stdout.fnmatch_lines(["FAILED*::test_dies[[]2pes] - PE 1 died"])
    done.stdout.fnmatch_lines(["PE 0 has not finished after 3 s; it was here:", "*in test_hangs"])
    done.stdout.fnmatch_lines(["--- PE 0, 1 of 2", "*LookupError: no such thing"])
    done.stdout.fnmatch_lines(["FAILED*::test_fails_on_one[[]2pes] - PE 1: *"])


FILES = {
    "test_first": """
        import sys
        import pytest

        pytestmark = pytest.mark.ishmem(npes=2)

        @pytest.fixture(scope="session")
        def shared():
            return []

        def test_one(shared):
            shared.append(1)
            assert "test_second" not in sys.modules

        def test_two(shared):
            sys.shared = shared
    """,
    "test_second": """
        import sys
        import pytest

        @pytest.mark.ishmem(npes=2)
        def test_three():
            assert sys.shared == [1]
    """,
    "test_third": """
        import pytest

        @pytest.fixture(scope="module")
        def board():
            yield
            raise LookupError("no board")

        def test_four(board):
            pass

        @pytest.mark.ishmem(npes=1)
        def test_five():
            pass
    """,
    "test_without_pes": "def test_six(): pass",
}


@pytest.mark.slow("test_tests_that_pass")
def test_files_one_after_the_other(pytester: pytest.Pytester) -> None:
    """PEs collect a file when a test of it is to run; pytest ends fixtures of a module before the next one's tests."""
    pytester.makepyfile(**FILES)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", *(f"{name}.py" for name in FILES))
    done.assert_outcomes(passed=6, errors=1)
    done.stdout.fnmatch_lines(["*ERROR at teardown of test_five*", "*LookupError: no board"])


ON_NODES = """
    import pytest
    import ishmem

    @pytest.mark.ishmem
    def test_nodes():
        assert ishmem.n_pes() == 2
        assert ishmem.TEAM_SHARED.n_pes() == 1

    @pytest.mark.ishmem(3, exact=True)
    def test_exact():
        assert False

    def size_of_node():
        return ishmem.TEAM_SHARED.n_pes()

    def test_results(ishmem_pes):
        assert ishmem_pes.run(size_of_node) == [1, 1]
"""


@pytest.mark.slow("tests/nodes")
def test_emulated_nodes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ON_NODES)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--ishmem-nodes", "1+1")
    done.assert_outcomes(passed=2, skipped=1)


def double(number: int) -> int:
    """Run on PEs."""
    return 2 * number + ishmem.my_pe()


def leave_memory() -> bool:
    """Run on PEs."""
    before = ishmem.is_symmetric(LEFT[0]) if LEFT else False
    LEFT[:] = [ishmem.zeros(10)]
    return before


def fail_on_one() -> None:
    """Run on PEs."""
    if ishmem.my_pe() == 1:
        raise LookupError("no such thing")
    ishmem.barrier_all()


LEFT: list[Any] = []


@pytest.mark.slow("test_tests_that_fail")
def test_pes_that_run_functions() -> None:
    with Pes(2, env={"ISHMEM_CHECK": "1"}) as pes:
        assert pes.run(double, 4) == [8, 9]
        assert pes.run(leave_memory) == pes.run(leave_memory) == [False, False]
        words = r"(?s)--- PE 0 has not finished 3 s after.*in fail_on_one.*LookupError: no such"
        with pytest.raises(PesError, match=words):
            pes.run(fail_on_one)
        assert pes.run(double, 1) == [2, 3]  # on new PEs


@pytest.mark.parametrize("function", [lambda: None, print.__self__], ids=["lambda", "module"])
def test_functions_that_pes_cannot_import(function: Any) -> None:
    with pytest.raises(ValueError, match=r"got .*, allowed: a function of a module"):
        Pes(1).run(function)


@pytest.mark.parametrize(("n", "nodes"), [(0, None), (2, [1, 2]), (2, [0, 2])])
def test_numbers_of_pes_that_are_wrong(n: int, nodes: list[int] | None) -> None:
    with pytest.raises(ValueError, match=f"got n={n}.*, allowed: at least 1 PE"):
        Pes(n, nodes=nodes)


def report_of(outcome: str, **more: Any) -> pytest.TestReport:
    longrepr = "words" if outcome == "failed" else None
    return pytest.TestReport("test_it", ("test_it.py", 1, "test_it"), {}, outcome, longrepr, "call", **more)


@pytest.mark.parametrize(
    ("by_pe", "outcome"),
    [
        ([report_of("passed"), report_of("skipped")], "passed"),
        ([report_of("skipped"), report_of("skipped")], "skipped"),
        ([report_of("skipped"), report_of("failed")], "failed"),
        ([report_of("passed", wasxfail="known"), report_of("skipped", wasxfail="known")], "skipped"),
        ([report_of("skipped", wasxfail="known"), report_of("failed")], "failed"),
    ],
)
def test_one_outcome_of_all_pes(by_pe: list[pytest.TestReport], outcome: str) -> None:
    merged = reports.merged(dict(enumerate(by_pe)), len(by_pe))
    assert merged.outcome == outcome
    assert hasattr(merged, "wasxfail") == (outcome == "skipped" and hasattr(by_pe[0], "wasxfail"))


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("npes=0", "ishmem(npes=0): allowed are npes"),
        ("npes=[2, 'x']", "ishmem(npes=[2, 'x']): allowed are npes"),
        ("pes=2", "ishmem(pes=2): allowed are npes"),
        ("env={'A': 1}", "ishmem(env={'A': 1}): allowed are npes"),
    ],
)
def test_marks_that_are_wrong(pytester: pytest.Pytester, mark: str, words: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.ishmem({mark})\ndef test_it(): pass\n")
    done = pytester.runpytest("-p", "no:cacheprovider")
    done.assert_outcomes(errors=1)
    assert words in done.stdout.str()


def test_numbers_of_pes_are_chosen(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.ishmem(npes=[2, 3, 4])\ndef test_it(): pass\n")
    done = pytester.runpytest("-p", "no:cacheprovider", "--collect-only", "-q", "--ishmem-npes", "2,4")
    done.stdout.fnmatch_lines(["*test_it[[]2pes]", "*test_it[[]4pes]"])
    done.stdout.no_fnmatch_line("*3pes*")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ishmem-npes=0"], "--ishmem-npes: got '0', allowed: numbers of PEs"),
        (["--ishmem-nodes=1+"], "--ishmem-nodes: got '1+', allowed: numbers of PEs, such as 2 or 1+3"),
        (["--ishmem-timeout=-1"], "ishmem_timeout: got -1.0, allowed: seconds, more than 0"),
        (["-o", "ishmem_device=cpu"], "ishmem_device: got 'cpu', allowed: sim, gpu, auto"),
    ],
)
def test_settings_that_are_wrong(pytester: pytest.Pytester, options: list[str], words: str) -> None:
    done = pytester.runpytest("-p", "no:cacheprovider", *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert words in done.stderr.str()


def test_the_plugin_loads_nothing_of_the_stack() -> None:
    program = "import sys, ishmem.testing.plugin; print(sorted({'dpctl', 'numpy', 'numba_dpex'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


HANGS = """
    import pytest

    import ishmem
    from ishmem import dpex
    from ishmem.dpex import kernel_api as kapi


    @dpex.kernel
    def waits(item: kapi.Item, flag):
        ishmem.wait_until(flag, ishmem.CMP_EQ, 5)


    @pytest.mark.ishmem(2, timeout=8)
    def test_hangs_in_a_kernel():
        flag = ishmem.zeros(1, dtype="i8")
        print("before the hang")
        dpex.call_kernel(waits, kapi.Range(1), flag)


    @pytest.mark.ishmem(2, env={"ISHMEM_TIMEOUT": "3"})
    def test_expects_a_time_out():
        flag = ishmem.zeros(1, dtype="i8")
        with pytest.raises(ishmem.WaitTimeout, match="kernel waits, .*wait_until: element 0 of flag is 0, wanted == 5"):
            dpex.call_kernel(waits, kapi.Range(1), flag)
"""


@pytest.mark.slow("test_tests_that_fail")
def test_hangs_in_kernels(pytester: pytest.Pytester) -> None:
    """The report of a hang names kernel, line and flag, and has what the PE had printed."""
    pytester.makepyfile(HANGS)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=1)
    wait = "*kernel waits, *.py:10: wait_until: element 0 of flag is 0, wanted == 5"
    done.stdout.fnmatch_lines(["PE 0 has not finished after 8 s; it was here:", wait, "before the hang"])
