"""One PE of an application: ``ishmem run -n 4 -m ishmem.examples.apps NAME [OPTIONS]``, as ``ishmem demo`` starts it.

With ``mpiexec -n 4 python -m ishmem.examples.apps NAME --mpi`` it is the same program with mpi4py.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import ishmem
from ishmem.examples.apps import APPS, App, MpiRun, Run, Wrong, find


def parse(arguments: list[str] | None = None) -> tuple[App, argparse.Namespace]:
    """Parse ``arguments``, by default those of the process; return the application and the common options."""
    names = argparse.ArgumentParser(prog="ishmem demo", add_help=False)
    names.add_argument("name", choices=list(APPS))
    name, rest = names.parse_known_args(arguments)
    kind = find(name.name)
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(f"ishmem demo {kind.name}", description=kind.__doc__, formatter_class=formatter)
    own: Any = fields(kind)  # type: ignore[arg-type]
    for one in own:
        parser.add_argument(f"--{one.name}", type=type(one.default), default=one.default, help=one.metadata["help"])
    parser.add_argument("--output", type=Path, default=Path(f"{kind.name}.png"), help="the picture file to write")
    parser.add_argument("--mpi", action="store_true", help="run the program with mpi4py, under mpiexec")
    options = parser.parse_args(rest)
    return kind(**{one.name: getattr(options, one.name) for one in own}), options


def report(app: App, result: Any, run: Run, output: Path) -> None:
    """Check a result against its reference, draw it to the file ``output``, and print the time and both outcomes."""
    print(f"{app.title}: {run.seconds:.3g} s on {run.n_pes} PEs, compilation included; {app.check(result)}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("The picture needs matplotlib: pip install 'ishmem4py[examples]'")
        return
    figure = Figure(figsize=(10, 4.2), dpi=100, layout="constrained")
    app.draw(figure, result, run)
    save(figure, output)
    print(f"Picture: {output}")


def save(figure: Any, output: Path) -> None:
    """Write a figure to the file ``output``; as PNG with a small palette, to keep the file small."""
    figure.savefig(output)
    if output.suffix == ".png":
        from PIL import Image

        with Image.open(output) as whole:
            small = whole.convert("RGB").quantize(256)
        small.save(output, optimize=True)


def main() -> None:
    """Run the application of the command line; report on PE 0. A wrong result or option ends it with a message."""
    app, options = parse()
    try:
        if options.mpi:
            run: Run = MpiRun(shown=True)
            result = app.run_mpi(run)
        else:
            with ishmem.init():
                run = Run(shown=True)
                result = app.run(run)
                ishmem.free_all()
        if run.pe == 0:
            report(app, result, run, options.output)
    except (Wrong, ValueError) as error:
        sys.exit(f"ishmem demo {app.name}: {error}")


if __name__ == "__main__":
    main()
