"""What weakens the findings of a study: cells that are missing, machines that were busy or differ, little data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .description import Study
from .measures import measures
from .phrases import counted, listed, power
from .unscored import left_out

# Fewer instances than this say little about others.
FEW = 10
# The load is a mean over a minute: it may be so much above the number of cores, in processes, without any harm.
ROUNDED = 0.5
# Beyond this share of the time, solving is no longer what is mostly compared.
MOST_UNSOLVING = 0.5
# Repeats of one cell whose times differ by more than this factor say that the machine was uneven.
UNEVEN = 1.5

Record = Mapping[str, Any]


def cautions(
    study: Study, records: Sequence[Record], environments: Mapping[str, Mapping[str, Any]], score: str = "ari"
) -> list[str]:
    """Return sentences on what weakens the findings; none if nothing does."""
    return [
        *_missing(study, records),
        *_left_out(study, records, score),
        *_few(records),
        *_busy(records, environments),
        *_machines(records, environments),
        *_versions(records),
        *_unsolving(study, records),
        *_uneven(study, records),
    ]


def _missing(study: Study, records: Sequence[Record]) -> Iterator[str]:
    """Compare with what each configuration has finished, since only the study's cells know what is to come."""
    instances = {record["instance"] for record in records}
    names = {configuration.name for configuration in study.configurations}
    total = len(instances) * len(names) * len(study.accuracy) * study.repeats
    found = len({(r["instance"], r["configuration"], r["accuracy"], r.get("repeat", 0)) for r in records})
    if found < total:
        yield (
            f"Caution: {total - found} of {total} cells on these instances are not computed yet; means and profiles "
            f"compare only instances on which all configurations have a result."
        )


def _left_out(study: Study, records: Sequence[Record], score: str) -> Iterator[str]:
    """Say which data the ranking of methods leaves out, which may favour the methods that work on the others."""
    if study.kind != "methods":
        return
    for accuracy in study.accuracy:
        found = left_out(study, [record for record in records if record["accuracy"] == accuracy], score)
        if found:
            at = f" at {power(accuracy)}" if len(study.accuracy) > 1 else ""
            yield f"Caution: the ranking{at} leaves out {listed(found)}, where not all methods could be scored."


def _few(records: Sequence[Record]) -> Iterator[str]:
    count = len({record["instance"] for record in records})
    if count < FEW:
        yield f"Caution: {count} instance{' says' if count == 1 else 's say'} little about others."


def _busy(records: Sequence[Record], environments: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Say in how many cells other processes wanted the same cores; nothing where their number is not known."""
    known = [
        (load, cores)
        for record in records
        if (load := _load(record)) is not None
        and (cores := (environments.get(record.get("environment", "")) or {}).get("cores"))
    ]
    busy = sum(load > cores + ROUNDED for load, cores in known)
    if busy:
        yield (
            f"Caution: more processes wanted a core than there are cores during {busy} of "
            f"{counted(len(known), 'cell')}, so their times are uncertain."
        )


def _load(record: Record) -> float | None:
    known = [load for load in record.get("load") or () if load is not None and math.isfinite(load)]
    return max(known, default=None)


def _machines(records: Sequence[Record], environments: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    used = {record["environment"] for record in records if record.get("environment")}
    if len(used) > 1:
        differ = sorted(
            {
                key
                for key in {key for one in used for key in environments.get(one, {})}
                if len({str(environments.get(one, {}).get(key)) for one in used}) > 1
            }
        )
        which = f", which differ in {', '.join(differ)}" if differ else ""
        yield f"Caution: cells were computed in {len(used)} environments{which}; compare times within each one only."
    hot = sum(bool(record.get("throttled")) for record in records)
    if hot:
        during = f"{hot} cell{'' if hot == 1 else 's'}"
        yield f"Caution: the processor was slowed down by heat during {during}, so their times are uncertain."


def _versions(records: Sequence[Record]) -> Iterator[str]:
    seen: dict[str, set[str]] = {}
    for record in records:
        for package, version in (record.get("versions") or {}).items():
            seen.setdefault(package, set()).add(str(version))
    mixed = [f"{package} ({', '.join(sorted(found))})" for package, found in seen.items() if len(found) > 1]
    if mixed:
        yield f"Caution: cells were computed with different versions of {', '.join(mixed)}."


def _unsolving(study: Study, records: Sequence[Record]) -> Iterator[str]:
    """Say whose times are rather those of reducing and compiling than of the solver."""
    if study.kind != "solvers":
        return
    for accuracy in study.accuracy:
        found = measures([record for record in records if record["accuracy"] == accuracy])
        names = [name for name, one in found.items() if one.unsolving is not None and one.unsolving > MOST_UNSOLVING]
        if names:
            yield (
                f"Caution: at {power(accuracy)}, more than half of the median time of {listed(names)} is not solving "
                f"but reducing and compiling; to compare solvers, look at their solve times."
            )


def _uneven(study: Study, records: Sequence[Record]) -> Iterator[str]:
    if study.kind != "solvers" or study.repeats < 2:
        return
    for accuracy in study.accuracy:
        found = measures([record for record in records if record["accuracy"] == accuracy])
        for name, one in found.items():
            if one.spread is not None and one.spread > UNEVEN:
                yield (
                    f"Caution: repeats of {name} at {power(accuracy)} take up to {one.spread:.2g} times as long as the "
                    f"shortest one on a typical instance."
                )
