"""What the page says beside the records: the study, its machines, and numbers that are easier to have from SciPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import scipy.stats

from ..cells import expanded
from ..claims import claims
from ..conclusions import conclusions
from ..description import Study
from ..judging import COARSEST, outcome
from ..measures import STAGES, has_solve_seconds
from ..phrases import RANKED, SCORES, at_limit
from ..scores import LESS_IS_BETTER, LEVEL, Scores, numbers_in
from ..statistics import ROOT_OF_TWO, SHIFT, TIE

Record = Mapping[str, Any]
# What curves may run over, where the instances of one data set differ in it, and how an axis calls it.
VARIED = {
    "links": "links",
    "per_class": "links per class",
    "labels": "labels",
    "wrong": "share of wrong links",
    "points": "points",
}
# Student's t is nearly normal beyond so many values; the last entry serves for all of them.
MOST_VALUES = 400


def content(
    study: Study, records: Sequence[Record], environments: Mapping[str, Mapping[str, Any]], file: str, score: str
) -> dict[str, Any]:
    """Return what the page shows beside the records, ready for JSON."""
    of_solvers = study.kind == "solvers"
    own = [record for record in records if not record.get("outside")]
    return clean(
        {
            "title": study.title,
            "kind": study.kind,
            "file": file,
            "shift": SHIFT,
            "tie": TIE,
            "stages": STAGES,
            "ranked": RANKED,
            "has_solve_seconds": of_solvers and has_solve_seconds(own),
            "study": {
                "time_limit": study.time_limit,
                "memory_limit": study.memory_limit,
                "threads": study.threads,
                "repeats": study.repeats,
                "seed": study.seed,
            },
            "accuracies": [[accuracy, f"{accuracy:g}"] for accuracy in study.accuracy],
            "configurations": [configuration.name for configuration in study.configurations],
            "instances": {} if of_solvers else _instances(study),
            "varied": _varied(study),
            "conclusions": conclusions(study, records, score, environments),
            "outcomes": [_outcomes(record) if of_solvers else (None, None) for record in records],
            "environments": environments,
            "score": score,
            "score_names": SCORES if study.kind == "methods" else {},
            "lower_is_better": [*LESS_IS_BETTER, "seconds"],
            "claims": _claims(study, records) if of_solvers else [],
            "tests": _tests(study, records) if study.kind == "methods" else [],
            **_quantiles(len(study.configurations), len(records)),
        }
    )


def clean(value: Any) -> Any:
    """Return a value in the words of JSON: names are text, and numbers that are not finite are null."""
    if isinstance(value, Mapping):
        return {str(name): clean(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _outcomes(record: Record) -> tuple[str, str]:
    """Return what a cell is called where the accuracy is met, and where it is missed."""
    return str(outcome(record, COARSEST)), str(outcome(record, 0.0))


def _instances(study: Study) -> dict[str, dict[str, Any]]:
    """Return of which data each instance is, what it has in common with its other draws, and what curves run over."""
    return {
        one.name: {
            "data": "" if one.data is None else str(one.data),
            "case": repr(replace(one, name="", draw=0, folder="")),  # a page says nothing of its machine
            "draw": one.draw,
            "varied": {name: one.options.get(name, getattr(one, name, None)) for name in _varied(study)},
        }
        for one in expanded(study)
    }


def _varied(study: Study) -> dict[str, str]:
    """Return what curves may run over: properties of links, or the options of functions."""
    if study.kind != "functions":
        return VARIED
    return {name: name for choice in study.instances for name in choice.options}


def _claims(study: Study, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return, for each accuracy at which rows of other tools can be compared, what all claim."""
    found = []
    for accuracy in study.accuracy:
        for compared in claims(records, study.time_limit, accuracy):
            found.append(
                {
                    "accuracy": accuracy,
                    "common": len(compared.instances),
                    "claims": [asdict(one) for one in compared.claims],
                    "at_limit": at_limit(compared.at_limit, study.time_limit),
                }
            )
    return found


def _tests(study: Study, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return, for each accuracy and score, p-values of all methods and of each pair, before they are adjusted."""
    places = {configuration.name: str(k) for k, configuration in enumerate(study.configurations)}
    tests = []
    for accuracy in study.accuracy:
        chosen = [record for record in records if record["accuracy"] == accuracy]
        for score in dict.fromkeys(name for record in chosen for name in numbers_in(record)):
            scores = Scores.of(study, chosen, score)
            p = {f"{places[pair.first]},{places[pair.second]}": pair.p for pair in scores.pairs()}
            tests.append({"accuracy": accuracy, "score": score, "friedman": scores.friedman(), "p": p})
    return tests


def _quantiles(methods: int, values: int) -> dict[str, Any]:
    """Return quantiles of Student's t by the number of values, and of the studentised range by that of methods."""
    degrees = np.arange(1, max(2, min(values, MOST_VALUES)))
    counts = np.arange(2, max(3, methods + 1))
    ranges = scipy.stats.studentized_range.ppf(1 - LEVEL, counts, np.inf) / ROOT_OF_TWO
    return {
        "student": [None, None, *scipy.stats.t.ppf(1 - LEVEL / 2, degrees).tolist()],
        "studentised": [None, None, *ranges.tolist()],
    }
