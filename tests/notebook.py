"""Runs the cells of a notebook in this process and prints them with their outputs as JSON: notebook.py FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


def outputs(path: str) -> list[tuple[str, int]]:
    """Run the cells that hold code; return the text that each prints, and how many pictures it shows."""
    shell, found = InteractiveShell.instance(), []
    for cell in json.loads(Path(path).read_text())["cells"]:
        if cell["cell_type"] == "code":
            with capture_output() as captured:
                result = shell.run_cell("".join(cell["source"]))
            result.raise_error()
            found.append((captured.stdout, len(captured.outputs)))
    return found


if __name__ == "__main__":
    found = outputs(sys.argv[1])
    print(json.dumps(found))
