"""Records of cells, as a study keeps them."""

from __future__ import annotations

from typing import Any


def record(
    instance: str, configuration: str, seconds: float, solved: bool = True, accuracy: float = 1e-4, **more: Any
) -> dict[str, Any]:
    """A cell of a study of solvers: proven to 1e-6, or claimed to be optimal and not proven."""
    known = {"proven_to": 1e-6 if solved else None, "value": 1.0, "gap": 1e-2, "claimed": "OPTIMAL", "status": "X"}
    named = {"instance": instance, "configuration": configuration, "seconds": seconds, "accuracy": accuracy}
    return named | known | more


def scored(instance: str, configuration: str, accuracy: float = 1e-4, **scores: float) -> dict[str, Any]:
    """A cell of a study of methods."""
    named = {"instance": instance, "configuration": configuration, "seconds": 1.0, "accuracy": accuracy}
    return named | ({"scores": scores} if scores else {"reason": "it failed"})
