"""The command line of ``ishmem bench --apps`` and ``ishmem bench apps-figures``."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(dir_okay=False, path_type=Path)
_OLD = click.Path(exists=True, dir_okay=False, path_type=Path)


def run(names: tuple[str, ...], pes: tuple[int, ...], runs: int, seconds: float, json_path: Path | None) -> int:
    """Measure the applications and print a line for each problem; return the exit status."""
    from ishmem.benchmarks import applications
    from ishmem.examples.apps import find

    try:
        for name in names:
            find(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    rows = []
    for found in applications.measure(names, pes or applications.PES, runs, seconds):
        click.echo(applications.line(found))
        rows += found
        if json_path:
            applications.write(json_path, rows)
    return 1 if any(row.reason for row in rows) else 0


@click.command("apps-figures")
@click.argument("results", type=_OLD)
@click.option("--page", type=_OLD, help="Write the table between the markers of this page instead of printing it.")
@click.option("-o", "--output", type=_FILE, help="Draw a picture.")
def figures_command(results: Path, page: Path | None, output: Path | None) -> None:
    """Print the table of the applications, in markdown."""
    from ishmem.benchmarks import applications, figures, plot

    head, rows = applications.read(results)
    runs = [row.runs for row in rows if row.runs]
    counts = f"{min(runs, default=0)} to {max(runs, default=0)} runs of each, in turn."
    text = f"{figures.about(head)} {counts}\n\n{applications.table(rows)}"
    if others := applications.beside(rows):
        text += f"\n\nBeside host routines that do the same, and other forms of the kernel:\n\n{others}"
    if page is None:
        click.echo(text)
    else:
        figures.update(page, text, applications.MARKER)
    if output:
        plot.save(applications.draw(rows), output)
