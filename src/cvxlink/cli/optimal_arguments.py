"""The command ``cvxlink optimal``, with its arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .cluster_arguments import (
    LONGEST,
    METHOD,
    MOST,
    SOLVING,
    STANDARD_OUTPUT,
    AsJson,
    CannotFile,
    Data,
    FeatureColumns,
    Header,
    IdColumn,
    IgnoredColumns,
    LabelColumn,
    LinkFile,
    MustFile,
    Neighbors,
    OneBased,
    Out,
    Plot,
    Seed,
    Sigma,
    Standardize,
    Symmetrize,
    Symmetrizing,
    TruthColumn,
    data_choices,
    plain_value,
    roles_of,
)
from .terminal import Stages, errors_in_one_sentence, print_exactly, print_json, say

MOST_JOBS = 1024

Clusters = Annotated[int, typer.Option(min=1, max=MOST, help="How many; none is empty.", rich_help_panel=METHOD)]
SizeMin = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="Least number of points in a cluster.", rich_help_panel=METHOD)
]
SizeMax = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="Largest number of points in a cluster.", rich_help_panel=METHOD)
]
Cut = Annotated[
    bool,
    typer.Option("--cut", help="Normalised cut of a graph of neighbours, not k-means.", rich_help_panel=METHOD),
]
Gap = Annotated[
    float,
    typer.Option(min=1e-9, max=0.5, help="Relative gap between value and bound to prove.", rich_help_panel=SOLVING),
]
TimeLimit = Annotated[
    float | None, typer.Option(min=0.01, max=LONGEST, help="Seconds for the search.", rich_help_panel=SOLVING)
]
Jobs = Annotated[int, typer.Option(min=1, max=MOST_JOBS, help="Processes.", rich_help_panel=SOLVING)]
SearchFile = Annotated[
    Path | None,
    typer.Option("--file", help="Where to save the search; one that is there is resumed.", rich_help_panel=SOLVING),
]


def optimal(
    data: Data,
    clusters: Clusters,
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
    size_min: SizeMin = None,
    size_max: SizeMax = None,
    cut: Cut = False,
    neighbors: Neighbors = 10,
    sigma: Sigma = "mean",
    symmetrize: Symmetrizing = Symmetrize.union,
    gap: Gap = 1e-4,
    time_limit: TimeLimit = None,
    jobs: Jobs = 1,
    file: SearchFile = None,
    seed: Seed = 0,
    out: Out = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Find the best clustering that keeps the links, and prove that it is the best.

    cvxlink optimal data.csv --links links.csv --clusters 3 --file search.json --out labels.csv

    The best k-means clustering, or with --cut the best normalised cut. Ctrl-C and --time-limit end the search with the
    best clustering so far and a bound that is proven; with --file the same command goes on later.
    """
    roles = roles_of(label_column, truth_column, id_column, columns, ignore_column)
    asked = data_choices(data, links, must, cannot, one_based, roles, header, standardize)
    out = None if out == Path(STANDARD_OUTPUT) else out
    with errors_in_one_sentence():
        from .optimal import SearchChoices
        from .optimal import optimal as run
        from .optimal_report import as_json as everything
        from .optimal_report import summary

        graph = neighbors, plain_value(sigma), symmetrize.value
        how = SearchChoices(clusters, size_min, size_max, cut, *graph, gap, time_limit, jobs, file, seed)
        with Stages() as stages:
            outcome = run(asked, how, out, plot, stages)
        if as_json:
            print_json(everything(outcome))
        elif out is None:
            print_exactly(outcome.table())
        if not as_json:
            say(summary(outcome), to_errors=out is None)
        if code := outcome.exit_code:
            raise typer.Exit(code)
