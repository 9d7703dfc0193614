"""Merges the reports of all PEs into one for each phase of a test."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import pytest
from _pytest._code.code import ExceptionChainRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from ishmem.testing.pe_job import Answers

Phase = Literal["setup", "call", "teardown"]
Link = tuple[ReprTraceback, "ReprFileLocation | None", "str | None"]

_PHASES: tuple[Phase, ...] = ("setup", "call", "teardown")
_STRICT = "[XPASS(strict)]"


def can_continue(answers: Answers) -> bool:
    """Return whether the PEs can run another test: none has failed, and all have reported the same outcomes."""
    kinds = {tuple((each["when"], each["outcome"]) for each in found) for found in answers.reports.values()}
    return not answers.failed and not answers.problems and len(kinds) == 1


def merge(item: pytest.Item, answers: Answers) -> list[pytest.TestReport]:
    """Return the reports of test ``item``, one for each phase, merged from the answers of the PEs."""
    read = item.config.hook.pytest_report_from_serializable
    of_phase: dict[str, dict[int, pytest.TestReport]] = {phase: {} for phase in _PHASES}
    for pe, found in sorted(answers.reports.items()):
        for data in found:
            report = read(config=item.config, data=data)
            of_phase[report.when][pe] = report
    of_all = {phase: merged(found, answers.n) for phase, found in of_phase.items() if found}
    if answers.problems:
        phase = _unfinished(of_phase, answers)
        of_all[phase] = _with_problems(item, phase, of_phase[phase], answers)
    return complete(item, of_all)


def complete(item: pytest.Item, found: dict[str, pytest.TestReport]) -> list[pytest.TestReport]:
    """Return the reports of all phases; setup and teardown without a report in ``found`` have passed."""
    return [
        found.get(phase) or _report(item, phase, "passed", None)
        for phase in _PHASES
        if phase != "call" or phase in found
    ]


def _report(item: pytest.Item, phase: Phase, outcome: Literal["passed", "failed"], longrepr: Any) -> pytest.TestReport:
    return pytest.TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), outcome, longrepr, phase)


def merged(found: dict[int, pytest.TestReport], n: int) -> pytest.TestReport:
    """Return one report of a phase from those of ``n`` PEs: of a failed one, else xfailed, xpassed, passed, skipped."""
    xfailed = {pe: report for pe, report in found.items() if report.skipped and hasattr(report, "wasxfail")}
    strict = {pe: each for pe, each in found.items() if each.failed and str(each.longrepr).startswith(_STRICT)}
    failed = {pe: report for pe, report in found.items() if report.failed and pe not in strict}
    skipped = {pe: report for pe, report in found.items() if report.skipped and pe not in xfailed}
    passed = {pe: report for pe, report in found.items() if report.passed}
    chosen = failed or xfailed or strict or passed or skipped
    result = copy.copy(next(iter(chosen.values())))
    if failed:
        result.longrepr = _failure(((pe, each.longrepr) for pe, each in failed.items()), n, result)
    result.sections = _sections(found, n)
    result.duration = max(report.duration for report in found.values())
    return result


def _sections(found: dict[int, pytest.TestReport], n: int) -> list[tuple[str, str]]:
    """Return the titles and texts of the captured output of all PEs."""
    return [
        (f"{title} of PE {pe}" if n > 1 else title, content)
        for pe, report in found.items()
        for title, content in report.sections
    ]


def _unfinished(of_phase: dict[str, dict[int, pytest.TestReport]], answers: Answers) -> Phase:
    """Return the phase in which the first PE with a problem did not finish: the one after its last report."""
    pe = min(answers.problems)
    last = [phase for phase in _PHASES if pe in of_phase[phase]]
    return _PHASES[min(_PHASES.index(last[-1]) + 1, 2)] if last else "call"


def _with_problems(
    item: pytest.Item, phase: Phase, found: dict[int, pytest.TestReport], answers: Answers
) -> pytest.TestReport:
    """Return the report of a phase that PEs did not finish."""
    report = _report(item, phase, "failed", None)
    failed: list[tuple[int, Any]] = [(pe, each.longrepr) for pe, each in found.items() if each.failed]
    problems = [(pe, f"PE {pe} {text}") for pe, text in answers.problems.items()]
    died = [each for each in problems if answers.has_died(each[0])]
    failures = [*died, *failed, *(each for each in problems if each not in died)]  # the first is the cause
    report.longrepr = _failure(failures, answers.n, report)
    report.sections = _sections(found, answers.n)
    if answers.output:
        report.sections.append(("Output of the job", answers.output))
    return report


def _failure(failures: Iterable[tuple[int, Any]], n: int, report: pytest.TestReport) -> ExceptionChainRepr:
    """Return the failures of PEs, equal texts once, as a chain that pytest prints and pytest-xdist serialises."""
    groups: dict[str, tuple[list[int], Any]] = {}
    for pe, longrepr in failures:
        groups.setdefault(str(longrepr), ([], longrepr))[0].append(pe)
    chain = [link for pes, longrepr in groups.values() for link in _links(_title(pes, n), longrepr)]
    result = ExceptionChainRepr(chain)
    pes, first = next(iter(groups.values()))
    result.reprcrash = _crash(pes[0], first, report)
    return result


def _title(pes: Sequence[int], n: int) -> str:
    return f"--- PE {', '.join(map(str, pes))} of {n}"


def _links(title: str, longrepr: Any) -> list[Link]:
    """Return failure ``longrepr`` of a PE as links of a chain, the first of which begins with ``title``."""
    if isinstance(longrepr, ExceptionChainRepr):
        links = list(longrepr.chain)
    elif hasattr(longrepr, "reprtraceback"):
        links = [(longrepr.reprtraceback, longrepr.reprcrash, None)]
    else:
        links = [(ReprTraceback([ReprEntryNative([f"{longrepr}\n"])], None, "native"), None, None)]
    traceback, crash, words = links[0]
    entries = [ReprEntryNative([f"{title}\n"]), *traceback.reprentries]
    titled = ReprTraceback(cast("Any", entries), traceback.extraline, traceback.style)
    return [(titled, crash, words), *links[1:]]


def _crash(pe: int, longrepr: Any, report: pytest.TestReport) -> ReprFileLocation:
    """Return the place and the message of a failure of a PE, for the summary line."""
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        return ReprFileLocation(crash.path, crash.lineno, f"PE {pe}: {crash.message}")
    path, line, _name = report.location
    return ReprFileLocation(path, (line or 0) + 1, str(longrepr).strip().partition("\n")[0])
