"""The versions of Python and of the packages that results depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("cvxlink", "cvxpy", "numpy", "scipy", "scikit-learn")


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages in this process."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from sources that are not installed
            found[package] = "not installed"
    return found


def differences(one: dict[str, str], other: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return the names whose versions differ, cvxlink first, with both versions; "none" where there is none."""
    return [
        (name, one.get(name) or "none", other.get(name) or "none")
        for name in sorted({*one, *other}, key=lambda name: (name != "cvxlink", name))
        if one.get(name) != other.get(name)
    ]


def differences_in_words(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Return a sentence on what differs between two machines, or None if nothing does."""
    found = [f"{name} {that}, not {this}" for name, this, that in differences(here, there)]
    return f"has other versions: {'; '.join(found)}" if found else None
