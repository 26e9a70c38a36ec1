"""The reports of ``cvxlink optimal``: for a person, or as JSON for a script."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..programs.status import Status
from .optimal import SearchOutcome
from .report import about_data, aligned, counted, data_as_json


def summary(outcome: SearchOutcome) -> str:
    """Return a summary for a person, a line or two on each topic."""
    found, choices = outcome.found, outcome.choices
    what = "normalised cut" if choices.cut else "sum of squared distances to the means"
    said = [*about_data(outcome.data), ("problem", f"{counted(choices.n_clusters, 'cluster')} with the least {what}")]
    proof = f"not proven to be the best ({found.reason}), but no clustering that keeps the links is below the bound"
    if found.status is Status.OPTIMAL:
        proof = (
            f"proven: no clustering that keeps the links has a value smaller by more than a share of {choices.gap:g}"
        )
    said += [("status", proof)]
    said += [("value", f"{found.value:.10g}; bound {found.bound:.10g}; relative gap {found.gap:.1e}")]
    open_nodes = sum(node.fate == "open" for node in found.tree)
    rounds = f"; {counted(len(found.history) - 1, 'round')} of cuts at the root" if found.history else ""
    said += [("search", f"{counted(len(found.tree), 'node')}, {open_nodes} open{rounds}")]
    sizes = ", ".join(map(str, np.bincount(found.labels)))
    said += [("clusters", f"{len(np.unique(found.labels))}, with {sizes} points; all links are kept")]
    scored = outcome.scores()
    if scored is not None:
        said.append(("scores", ", ".join(f"{name} {value:.4f}" for name, value in scored.items())))
    earlier = found.seconds - outcome.seconds["search"]
    runs = f", after {earlier:.2f} s in earlier runs" if earlier > 0.1 else ""
    said.append(("time", f"{sum(outcome.seconds.values()):.2f} s{runs}"))
    if found.status is not Status.OPTIMAL:
        said.append(("next", _remedy(choices.file)))
    said += [("written", str(path)) for path in (outcome.out, outcome.plot, choices.file) if path is not None]
    said += [("warning", words) for words in outcome.warnings]
    return aligned(said)


def _remedy(file: Path | None) -> str:
    if file is not None:
        return f"the same command goes on from {file}"
    return "allow a larger --time-limit, more --jobs or a larger --gap; with --file a search can go on later"


def as_json(outcome: SearchOutcome) -> dict[str, Any]:
    """Return everything for scripts."""
    found, points, classes = outcome.found, outcome.data.points, outcome.classes
    settings = asdict(outcome.choices)
    settings["file"] = None if settings["file"] is None else str(settings["file"])
    return {
        "points": [points[row] for row in range(len(found.labels))],
        "labels": found.labels.tolist(),
        **({} if classes is None else {"classes": classes}),
        "sizes": np.bincount(found.labels).tolist(),
        "problem": type(outcome.problem).__name__,
        "value": found.value,
        "bound": found.bound,
        "gap": found.gap,
        "status": str(found.status),
        "reason": found.reason,
        "rounds": [asdict(one) for one in found.history],
        "tree": [asdict(node) for node in found.tree],
        "scores": outcome.scores(),
        "seconds": found.seconds,
        "timings": outcome.seconds,
        "data": data_as_json(outcome.data),
        "settings": settings,
        "warnings": outcome.warnings,
        "out": None if outcome.out is None else str(outcome.out),
        "plot": None if outcome.plot is None else str(outcome.plot),
    }
