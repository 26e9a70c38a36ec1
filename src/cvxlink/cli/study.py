"""``cvxlink study``: run, watch, merge and report comparisons of solvers and of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import errors_in_one_sentence, print_json, say

# Instances that a table has, and the study has not.
MOST_NAMED = 10
EXAMPLE = (
    "Example: `cvxlink study run study.toml --jobs 2`, and after an interruption `cvxlink study resume study.toml`. "
    "Both compute what is missing; resume begins nothing new, so a mistyped name or folder is noticed."
)
study = typer.Typer(help="Compare solvers or methods: a study is a TOML file.", no_args_is_help=True, epilog=EXAMPLE)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The study, a TOML file.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="FOLDER", help="Where results are kept; by default STUDY-results beside the file."
    ),
]
Jobs = Annotated[int, typer.Option(min=1, max=512, metavar="N", help="Cells at a time, at most 512.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="TEXT",
        help="Only cells with this in their name, which is INSTANCE, CONFIGURATION, ACCURACY; may be given again.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler, tcp://host:port, whose workers compute the cells."),
]


def folder_of(file: Path, folder: Path | None) -> Path:
    """Return where the results of a study are kept."""
    return file.with_name(f"{file.stem}-results") if folder is None else folder


@study.command(epilog=EXAMPLE)
def run(file: File, folder: Folder = None, jobs: Jobs = 1, only: Only = None, scheduler: Scheduler = None) -> None:
    """Begin a study, or go on with it, and show what was found. End it in any way: nothing is computed twice."""
    _run(file, folder, jobs, only or [], scheduler)


@study.command(epilog=EXAMPLE)
def resume(file: File, folder: Folder = None, jobs: Jobs = 1, only: Only = None, scheduler: Scheduler = None) -> None:
    """Go on with a study that was begun, as run does; where no results are yet, this is an error."""
    from ..errors import InvalidInput
    from ..studies.store import RESULTS

    where = folder_of(file, folder)
    with errors_in_one_sentence():
        if not (where / RESULTS).exists():
            raise InvalidInput(f"there is nothing to resume in {where}; `cvxlink study run {file}` begins", "folder")
    _run(file, folder, jobs, only or [], scheduler)


def _run(file: Path, folder: Path | None, jobs: int, only: list[str], scheduler: str | None) -> None:
    from ..errors import InvalidInput
    from ..studies.cells import Cell, cells_of
    from ..studies.description import Study
    from ..studies.running import run as run_study
    from ..studies.store import Store
    from ..studies.summary import summary
    from .progress import StudyProgress, to_resume

    def chosen(cell: Cell) -> bool:
        return not only or any(part in str(cell) for part in only)

    with errors_in_one_sentence():
        described, where = Study.read(file), folder_of(file, folder)
        if not any(chosen(cell) for cell in cells_of(described)):
            raise InvalidInput(f"no cell has {' or '.join(map(repr, only))} in its name", "only")
        again = to_resume(file, folder, jobs=jobs if jobs > 1 else None, only=only, scheduler=scheduler)
        with StudyProgress(again) as shown:
            records = run_study(
                described, where, jobs, chosen if only else None, shown.tell, scheduler, begin=shown.begin
            )
        say(summary(described, records, environments=Store(where).environments()), to_errors=False)


@study.command()
def status(
    file: File,
    folder: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Say how far a study has come."""
    from dataclasses import asdict

    from ..studies.description import Study
    from ..studies.running import standing

    with errors_in_one_sentence():
        now = standing(Study.read(file), folder_of(file, folder))
        if as_json:
            print_json(asdict(now) | {"remaining": now.remaining})
        else:
            say(str(now), to_errors=False)


@study.command()
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Folders with results.")],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="The folder that gets them all.")],
) -> None:
    """Put the results of several folders into one."""
    from ..studies.store import merged

    with errors_in_one_sentence():
        added = merged(folders, into)
        say(f"{added} results added to {into}", to_errors=False)


@study.command()
def report(
    file: File,
    folder: Folder = None,
    score: Annotated[
        str, typer.Option(metavar="NAME", help="In studies of methods: ari, nmi, error, pairwise or violated.")
    ] = "ari",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="NAME.html: one page that needs no network, to be mailed around."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A folder for profiles and diagrams, one file each.")
    ] = None,
    format: Annotated[str, typer.Option(metavar="NAME", help="Of the figures: pdf, png or svg.")] = "pdf",
) -> None:
    """Show what a study found so far, or write it as a page, or as figures."""
    from ..studies.description import Study
    from ..studies.figures import save_figures
    from ..studies.results import records
    from ..studies.store import Store
    from ..studies.summary import summary

    with errors_in_one_sentence():
        described, where = Study.read(file), folder_of(file, folder)
        if figures is not None:
            made = save_figures(described, records(described, where), figures, score, format)
            say("\n".join(map(str, made)), to_errors=False)
        if out is not None:
            _write_page(described, file, where, out, score)
        if out is None and figures is None:
            environments = Store(where).environments()
            say(summary(described, records(described, where), score, environments), to_errors=False)


def _write_page(described: Any, file: Path, where: Path, out: Path, score: str) -> None:
    from ..data.files.atomic import require_new
    from ..errors import InvalidInput
    from ..studies.page import save_page
    from ..studies.results import records
    from ..studies.store import Store

    if out.suffix != ".html":
        raise InvalidInput(f"{out} must end in .html, which says what to write", "out")
    require_new({"--out": out}, {"is the study": file})
    found = records(described, where)
    save_page(out, described, found, Store(where).environments(), file=file.name, score=score)
    say(f"{len(found)} cells in {out}, {out.stat().st_size / 1e3:.0f} kB; it opens in any browser", to_errors=False)


@study.command()
def export(
    file: File,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="NAME.csv, NAME.jsonl or NAME.parquet.")] = None,
    benchopt: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A new folder, which gets a benchmark for benchopt.")
    ] = None,
    folder: Folder = None,
) -> None:
    """Write the results of a study as a table, or the study as a benchmark for benchopt."""
    from ..errors import InvalidInput
    from ..studies.description import Study
    from ..studies.exchange.benchmark_folder import write_benchmark
    from ..studies.exchange.tables import write_table
    from ..studies.results import records

    with errors_in_one_sentence():
        if (out is None) == (benchopt is None):
            raise InvalidInput("say what to write: --out NAME.csv for the results, or --benchopt FOLDER", "out")
        described = Study.read(file)
        if benchopt is not None:
            write_benchmark(described, file, benchopt)
            say(f"run it with: benchopt run {benchopt} --local", to_errors=False)
        elif out is not None:
            found = records(described, folder_of(file, folder))
            write_table(described, found, out)
            say(f"{len(found)} results in {out}", to_errors=False)


@study.command("import")
def import_results(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Results of another tool, CSV or JSON lines.")],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="The folder with the results of a study.")],
) -> None:
    """Show results of another tool beside those of a study: as claimed, since nothing proves them."""
    from ..errors import InvalidInput
    from ..studies.exchange.outside import compared, read_outside
    from ..studies.store import RESULTS, Store

    with errors_in_one_sentence():
        if not (into / RESULTS).exists():
            words = f"there are no results of a study in {into}, so nothing to compare with"
            raise InvalidInput(f"{words}; `cvxlink study run FILE --folder {into}` computes them", "into")
        found = read_outside(table)
        for words in found.damaged:
            say(f"left out: {words}", style="yellow")
        with Store(into).writer() as writer:
            for record in found.records:
                writer.add(record)
        say(f"{len(found.records)} rows of {table.name} are in {into}", to_errors=False)
        came = {record["instance"] for record in found.records}
        others = [name for name in compared(Store(into).records())[1] if name in came]
        if others:
            more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            words = f"the results there have no instance {', '.join(others[:MOST_NAMED])}{more}"
            say(f"{words}; name instances as `cvxlink study report` does", style="yellow")
