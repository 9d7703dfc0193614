"""``python tools/lines.py [COMMIT]``: prints the lines of code of each package, and how many a change adds or removes.

The change is that of the working tree since ``COMMIT``: by default the last commit, or the one before if nothing has
changed since. The budgets are those of CONTRIBUTING.md; vendored and generated files do not count.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
CODE = {".py", ".cpp", ".hpp", ".h", ".cl"}
NOT_OURS = ("emulator/third_party/",)
BUDGET = re.compile(r"^\| ([\w, `]+) \| ([\d,]+) \|$", re.MULTILINE)


def git(*arguments: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def counts(path: str) -> bool:
    """Return whether a file counts: code in a folder of this project, neither vendored nor generated."""
    return PurePosixPath(path).suffix in CODE and "/" in path and not path.startswith(NOT_OURS)


def lines() -> dict[str, int]:
    """Return the number of lines of each folder at the root."""
    found: dict[str, int] = {}
    for path in filter(counts, git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()):
        if (ROOT / path).exists():
            folder = path.split("/")[0]
            found[folder] = found.get(folder, 0) + (ROOT / path).read_bytes().count(b"\n")
    return found


def change(commit: str) -> dict[str, int]:
    """Return the number of lines that each folder has more than at a commit."""
    found: dict[str, int] = {}
    for line in git("diff", "--numstat", "--no-renames", commit).splitlines():
        added, removed, path = line.split("\t")
        if counts(path):
            folder = path.split("/")[0]
            found[folder] = found.get(folder, 0) + int(added) - int(removed)
    return found


def main() -> None:
    """Print a line for each budget: lines, budget and change."""
    last_two = git("rev-list", "--max-count=2", "HEAD").split()  # one in a clone without history
    commit = sys.argv[1] if len(sys.argv) > 1 else last_two[0 if git("status", "--porcelain") else -1][:10]
    more, now = change(commit), lines()
    for names, budget in BUDGET.findall((ROOT / "CONTRIBUTING.md").read_text()):
        folders = re.findall(r"\w+", names)
        total, added = (sum(table.get(folder, 0) for folder in folders) for table in (now, more))
        print(f"{', '.join(folders)}: {total:,} lines of {budget}, {added:+,} since {commit}")


if __name__ == "__main__":
    main()
