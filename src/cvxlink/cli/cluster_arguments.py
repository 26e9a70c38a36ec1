"""The commands ``cvxlink cluster`` and ``cvxlink explain``, with their arguments and options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..programs.status import DEFAULT_ACCURACY
from .terminal import Stages, errors_in_one_sentence, exit_code_of, print_exactly, print_json, say

if TYPE_CHECKING:
    from ..data.files.points import Roles
    from .reading import DataChoices


class Symmetrize(StrEnum):
    """How the two directions of an edge are merged."""

    union = "union"
    mean = "mean"
    mutual = "mutual"


def _one_option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise typer.BadParameter(f"{text!r} is not of the form name=value, such as mu=0.2")
    return name.strip(), plain_value(value.strip())


def plain_value(text: str) -> Any:
    """Return the number, True or False that a word stands for, or the word itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if abs(value) <= MOST else float(text)
    return text


def _column_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise typer.BadParameter(f"{text!r} has an empty name; give columns as a,b,c")
    return names


STANDARD_OUTPUT = "-"
# Above, a whole number is no count of anything, and some libraries cannot hold it.
MOST = 2**31 - 1
LONGEST = 1e6  # seconds, about eleven days
DATA, METHOD, GRAPH, SOLVING, OUTPUT = "Data", "Method", "Graph", "Solving", "Output"

Data = Annotated[str, typer.Argument(help="Points, one per line: CSV, TSV, semicolons or spaces; - is standard input.")]
LinkFile = Annotated[
    Path | None,
    typer.Option("--links", help="Links: i,j,kind with kind must or cannot; or JSON.", rich_help_panel=DATA),
]
MustFile = Annotated[Path | None, typer.Option("--must", help="Must-links: i,j.", rich_help_panel=DATA)]
CannotFile = Annotated[Path | None, typer.Option("--cannot", help="Cannot-links: i,j.", rich_help_panel=DATA)]
OneBased = Annotated[
    bool, typer.Option("--one-based", help="Count points from 1, not 0, in links and labels.", rich_help_panel=DATA)
]
LabelColumn = Annotated[
    str | None,
    typer.Option(help="Known labels; an empty cell, ?, NA or -1 means unknown.", rich_help_panel=DATA),
]
TruthColumn = Annotated[str | None, typer.Option(help="True classes, used for scores only.", rich_help_panel=DATA)]
IdColumn = Annotated[str | None, typer.Option(help="Names of the points, for links and labels.", rich_help_panel=DATA)]
FeatureColumns = Annotated[
    str | None,
    typer.Option("--columns", help="Features to use, a,b,c; by default all other columns.", rich_help_panel=DATA),
]
IgnoredColumns = Annotated[
    list[str] | None,
    typer.Option("--ignore-column", help="A column not to use, or several: a,b,c. Repeatable.", rich_help_panel=DATA),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether line 1 names the columns; detected by default.", rich_help_panel=DATA
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize", help="Scale features to mean 0 and variance 1.", rich_help_panel=DATA
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="A method that `cvxlink methods` lists, or your own class: module:Class. Its module is run. auto chooses.",
        rich_help_panel=METHOD,
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option(min=1, max=MOST, help="How many; by default as labels or cannot-links need.", rich_help_panel=METHOD),
]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the method, such as mu=0.2. Repeatable.", rich_help_panel=METHOD),
]
Neighbors = Annotated[int, typer.Option(min=1, max=MOST, help="Neighbours of each point.", rich_help_panel=GRAPH)]
Sigma = Annotated[
    str, typer.Option(help="Width of the weights: a number, or mean for the mean distance.", rich_help_panel=GRAPH)
]
Symmetrizing = Annotated[
    Symmetrize,
    typer.Option(
        "--symmetrize",
        help="Who must choose an edge: one end (union), both (mutual); mean averages.",
        rich_help_panel=GRAPH,
    ),
]
Solver = Annotated[
    str | None, typer.Option(help="A solver; by default our own algorithm where one applies.", rich_help_panel=SOLVING)
]
Form = Annotated[str | None, typer.Option(help="A form of the program.", rich_help_panel=SOLVING)]
Route = Annotated[
    str | None, typer.Option(help="A route: one of our own algorithms for the program.", rich_help_panel=SOLVING)
]
Accuracy = Annotated[
    float,
    typer.Option(min=1e-15, max=0.5, help="Largest violation and relative gap to accept.", rich_help_panel=SOLVING),
]
TimeLimit = Annotated[
    float | None, typer.Option(min=0.01, max=LONGEST, help="Seconds for the whole solve.", rich_help_panel=SOLVING)
]
Seed = Annotated[
    int, typer.Option(min=0, max=MOST, help="The same seed gives the same labels.", rich_help_panel=SOLVING)
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="File for the labels, as CSV; standard output by default, or if it is -.", rich_help_panel=OUTPUT
    ),
]
Plot = Annotated[
    Path | None, typer.Option(help="File for a picture of links, result and clusters.", rich_help_panel=OUTPUT)
]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts: JSON on standard output.", rich_help_panel=OUTPUT)]


def cluster(
    data: Data,
    links: LinkFile = None,
    must: MustFile = None,
    cannot: CannotFile = None,
    one_based: OneBased = False,
    label_column: LabelColumn = None,
    truth_column: TruthColumn = None,
    id_column: IdColumn = None,
    columns: FeatureColumns = None,
    ignore_column: IgnoredColumns = None,
    header: Header = None,
    standardize: Standardize = True,
    method: MethodName = "auto",
    clusters: Clusters = None,
    option: MethodOptions = None,
    neighbors: Neighbors = 10,
    sigma: Sigma = "mean",
    symmetrize: Symmetrizing = Symmetrize.union,
    solver: Solver = None,
    form: Form = None,
    route: Route = None,
    accuracy: Accuracy = DEFAULT_ACCURACY,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    out: Out = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Cluster the points in a file, with links or labels that are known for some of them.

    cvxlink cluster data.csv --links links.csv --method kp --clusters 3 --out labels.csv

    The labels are written as CSV with the columns point and cluster, and label if labels were given. Columns of the
    data are given by name, or by number counted from 1.
    """
    roles = roles_of(label_column, truth_column, id_column, columns, ignore_column)
    asked = data_choices(data, links, must, cannot, one_based, roles, header, standardize)
    options = _method_options(option)
    out = None if out == Path(STANDARD_OUTPUT) else out
    with errors_in_one_sentence():
        from .cluster import MethodChoices
        from .cluster import cluster as run
        from .report import as_json as everything
        from .report import summary

        graph = neighbors, plain_value(sigma), symmetrize.value
        how = MethodChoices(clusters, method, options, *graph, solver, form, route, accuracy, time_limit, seed)
        with Stages() as stages:
            outcome = run(asked, how, out, plot, stages)
        if as_json:
            print_json(everything(outcome))
        elif out is None:
            print_exactly(outcome.table())
        if not as_json:
            say(summary(outcome), to_errors=out is None)
        if code := exit_code_of(outcome.fitted.solution_):
            raise typer.Exit(code)


def explain(
    data: Data,
    links: LinkFile = None,
    must: MustFile = None,
    cannot: CannotFile = None,
    one_based: OneBased = False,
    label_column: LabelColumn = None,
    truth_column: TruthColumn = None,
    id_column: IdColumn = None,
    columns: FeatureColumns = None,
    ignore_column: IgnoredColumns = None,
    header: Header = None,
    standardize: Standardize = True,
    method: MethodName = "auto",
    clusters: Clusters = None,
    option: MethodOptions = None,
    neighbors: Neighbors = 10,
    sigma: Sigma = "mean",
    symmetrize: Symmetrizing = Symmetrize.union,
    solver: Solver = None,
    form: Form = None,
    route: Route = None,
    as_json: AsJson = False,
) -> None:
    """Print the program that `cvxlink cluster` would solve, and the plan for it; nothing is solved."""
    roles = roles_of(label_column, truth_column, id_column, columns, ignore_column)
    asked = data_choices(data, links, must, cannot, one_based, roles, header, standardize)
    options = _method_options(option)
    with errors_in_one_sentence():
        from .cluster import MethodChoices
        from .cluster import explain as run
        from .report import plan_as_json, summary_of_plan

        graph = neighbors, plain_value(sigma), symmetrize.value
        how = MethodChoices(clusters, method, options, *graph, solver, form, route)
        with Stages() as stages:
            explanation = run(asked, how, stages)
        if as_json:
            print_json(plan_as_json(explanation))
        else:
            say(summary_of_plan(explanation), to_errors=False)


def roles_of(
    labels: str | None, truth: str | None, names: str | None, features: str | None, ignored: list[str] | None
) -> Roles:
    """Return what each column is for."""
    from ..data.files.points import Roles

    unused = tuple(name for text in ignored or () for name in _column_names(text))
    return Roles(labels, truth, names, None if features is None else _column_names(features), unused)


def data_choices(
    source: str,
    links: Path | None,
    must: Path | None,
    cannot: Path | None,
    one_based: bool,
    roles: Roles,
    header: bool | None,
    standardize: bool,
) -> DataChoices:
    """Return where the points and links are; what it needs is loaded only now."""
    from .reading import DataChoices

    return DataChoices(source, roles, header, standardize, links, must, cannot, one_based)


def _method_options(options: list[str] | None) -> dict[str, Any]:
    return dict(map(_one_option, options or []))
