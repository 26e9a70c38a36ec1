"""What a study found, in sentences that are computed from its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .cautions import cautions
from .description import Study
from .judging import Outcome, contradiction, outcome
from .measures import Measures, measures
from .phrases import RANKED, counted, failed, in_full, listed, power
from .scores import LEVEL, Scores
from .statistics import SHIFT, TIE, Times
from .unscored import unscored

# So many names are listed; of more, the number is said.
MOST_NAMES = 3
# Beyond so many configurations, a sentence names those that prove the most.
MOST_SENTENCES = 6

Record = Mapping[str, Any]


def conclusions(
    study: Study,
    records: Sequence[Record],
    score: str = "ari",
    environments: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[str]:
    """Return what a study found, in sentences: what matters most comes first, what weakens it last.

    Parameters
    ----------
    study : Study
    records : sequence of mappings
        The results, one for each cell; rows of other tools (``outside``) are left out.
    score : str
        In studies of methods: what to compare.
    environments : mapping, optional
        The machines by the short hashes in the records, as the folder of a study holds them.
    """
    own = [record for record in records if not record.get("outside")]
    if not own:
        return ["Nothing is computed yet."]
    if study.kind == "solvers":
        found = [*_contradictions(own), *_of_solvers(study, own)]
    elif study.kind == "methods":
        found = _of_methods(study, own, score)
    else:
        found = unscored(study, own, "")
    return [*found, *cautions(study, own, environments or {}, score)]


# ---------------------------------------------------------------------- studies of solvers


def _contradictions(records: Sequence[Record]) -> list[str]:
    """Say loudly which certificates disagree with what is known: each is a mistake, of cvxlink or of the library."""
    found = {(r["instance"], r["configuration"]): words for r in records if (words := contradiction(r))}
    return [
        f"A certificate is refuted: {configuration} on {instance}: {words}. Either the certificate or the reference of "
        f"the library is wrong; do not trust this study before you know which."
        for (instance, configuration), words in found.items()
    ]


def _of_solvers(study: Study, records: Sequence[Record]) -> list[str]:
    said = []
    for accuracy in study.accuracy:
        chosen = [record for record in records if record["accuracy"] == accuracy]
        if chosen:
            times, of_each = Times.of(chosen, study.time_limit), measures(chosen)
            said += [_proven(times, accuracy), *_fastest(times, accuracy), *_claims(chosen, accuracy)]
            said += [*_failures(of_each, accuracy), *_never_proven(times, accuracy)]
    return said


def _proven(times: Times, accuracy: float) -> str:
    order = np.argsort(-times.solved, kind="stable")
    if len(order) > MOST_SENTENCES and len(set(times.finished.tolist())) == 1:
        return _proven_by_groups(times, accuracy)
    shares = [
        f"{times.configurations[k]} proves {times.solved[k]} of {counted(int(times.finished[k]), 'instance')}"
        for k in order
    ]
    return f"To an accuracy of {power(accuracy)}, {listed(shares)}."


def _proven_by_groups(times: Times, accuracy: float) -> str:
    """Name the two groups of configurations that prove the most; a table has all of them."""
    most = sorted(set(times.solved.tolist()), reverse=True)[:2]
    groups = [[name for name, k in zip(times.configurations, times.solved, strict=True) if k == one] for one in most]
    first = f"{most[0]} of {counted(int(times.finished[0]), 'instance')} are proven by {' / '.join(groups[0])}"
    others = [f"{one} by {' / '.join(names)}" for one, names in zip(most[1:], groups[1:], strict=True)]
    left = len(times.configurations) - sum(map(len, groups))
    rest = [f"{counted(left, 'other configuration')} prove{'s' if left == 1 else ''} fewer"] if left else []
    return f"To an accuracy of {power(accuracy)}, {'; '.join([first, *others, *rest])}."


def _fastest(times: Times, accuracy: float) -> list[str]:
    """Say who is the fastest over all, if there is a comparison, and on how many instances each is."""
    common, means = times.common, times.means()
    if len(times.configurations) < 2 or not common.solved.any():
        return []
    order, names = np.argsort(means, kind="stable"), times.configurations
    first, second = order[:2]
    count = len(common.instances)
    over = (
        f"On the {count} instances on which all have a result"
        if count > 1
        else "On the one instance on which all have a result"
    )
    how = f"{RANKED}: shifted geometric mean, with a shift of {SHIFT:g} s; failures count as {times.limit:g} s"
    words = f"at {power(accuracy)}, {names[first]} takes {means[first]:.3g} s and {names[second]}, the next, "
    if means[second] < TIE * means[first]:
        words += f"about the same, {means[second]:.3g} s"
    else:
        words += f"{means[second] / max(means[first], 1e-12):.2g} times as long"
    wins = [f"{names[k]} on {count}" for k in order if (count := int(common.fastest(TIE)[k]))]
    within = f"The fastest, or within {TIE - 1:.0%} of the fastest, is {listed(wins)}."
    return [f"{over}, {words} ({how}). {within}"]


def _claims(records: Sequence[Record], accuracy: float) -> list[str]:
    """Say who claims what the certificate does not confirm."""
    wrong: dict[str, dict[str, None]] = {}
    for record in records:
        if outcome(record) is Outcome.WRONG:
            wrong.setdefault(record["configuration"], {})[record["instance"]] = None
    return [
        f"{name} claims optimality on {counted(len(found), 'instance')} where its certificate does not prove it to "
        f"{power(accuracy)}: {listed(list(found), MOST_NAMES)}."
        for name, found in wrong.items()
    ]


def _failures(of_each: Mapping[str, Measures], accuracy: float) -> list[str]:
    rows = [
        f"{name}: {listed([failed(count, kind) for kind, count in one.failures.items()])}"
        for name, one in of_each.items()
        if one.failures
    ]
    return [f"Failures by kind at {power(accuracy)}: {'; '.join(rows)}."] if rows else []


def _never_proven(times: Times, accuracy: float) -> list[str]:
    common = times.common
    never = [name for name, row in zip(common.instances, common.seconds, strict=True) if not np.isfinite(row).any()]
    if not never:
        return []
    return [f"No configuration proves {listed(never, MOST_NAMES)} to {power(accuracy)}."]


# ---------------------------------------------------------------------- studies of methods


def _of_methods(study: Study, records: Sequence[Record], score: str) -> list[str]:
    said = []
    for accuracy in study.accuracy:
        chosen = [record for record in records if record["accuracy"] == accuracy]
        scores = Scores.of(study, chosen, score)
        at = f" at an accuracy of {power(accuracy)}" if len(study.accuracy) > 1 else ""
        if len(scores.values):
            said += [_best(scores, at), *_differences(scores, at)]
        elif chosen:
            said.append(f"No instance is scored by all methods{at}, so they cannot be compared.")
        said += unscored(study, chosen, at)
    return said


def _best(scores: Scores, at: str) -> str:
    best, name = scores.best, in_full(scores.score)
    words = (
        f"{scores.methods[best]} has the best mean {name}{at}: {_with_half(scores.means[best], scores.halves[best])}"
    )
    if len(scores.methods) > 1:
        other = max((k for k in range(len(scores.methods)) if k != best), key=lambda k: scores.sign * scores.means[k])
        behind, half = scores.behind(other)
        words += f"; next comes {scores.methods[other]}, {_with_half(behind, half)} behind"
    draws = "" if np.isnan(scores.halves[best]) else ", 95 % intervals over draws, paired"
    return f"{words} ({counted(len(scores.values), 'instance')} scored by all{draws})."


def _with_half(mean: float, half: float) -> str:
    return f"{mean:.3f}" if np.isnan(half) else f"{mean:.3f} ± {half:.3f}"


def _differences(scores: Scores, at: str) -> list[str]:
    """Say which differences are significant, and which could not be, however large."""
    count, unit = len(scores.blocks), scores.unit
    if len(scores.methods) < 2:
        return []
    if count < 2:
        return [f"One {'data set' if unit == 'data sets' else 'draw of links'} is too little to test differences."]
    only = f"; this says nothing about other data than {scores.data[0]}" if unit != "data sets" else ""
    said = []
    if len(scores.methods) > 2:
        p = scores.friedman()
        verdict = "differ significantly" if p < LEVEL else "do not differ significantly"
        said.append(
            f"By Friedman's test over {count} {unit}, the ranks of the methods {verdict}{at} (p = {p:.2g}){only}."
        )
    if scores.least_p >= LEVEL:
        return [*said, f"{count} {unit} are too few for Wilcoxon's test to find a difference between two methods."]
    pairs = scores.pairs()
    better = [
        f"{pair.first if ahead > 0 else pair.second} beats {pair.second if ahead > 0 else pair.first} "
        f"(p = {pair.adjusted:.2g})"
        for pair in pairs
        if pair.is_significant and (ahead := scores.sign * pair.difference)
    ]
    alike = [f"{pair.first} and {pair.second} (p = {pair.adjusted:.2g})" for pair in pairs if not pair.is_significant]
    how = f"Wilcoxon's signed-rank test, adjusted by Holm, {count} {unit}"
    if better:
        said.append(f"Significant differences{at}: {listed(better, 2 * MOST_NAMES)}; {how}{only}.")
    if alike:
        said.append(f"Differences{at} are not significant between {listed(alike, 2 * MOST_NAMES)}; {how}.")
    return said
