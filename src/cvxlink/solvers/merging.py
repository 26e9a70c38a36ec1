"""Programs with functions of single numbers on blocks of points that are forced together, and the way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..numerics.matrices import as_dense
from ..programs.separable_sdp import SeparableSDP
from ..reductions.contraction import Contraction, ContractionLift
from .route import Attempt


def merged(program: SeparableSDP) -> tuple[SeparableSDP, ContractionLift | None]:
    """Return the program on blocks, and the way back; the program itself and None if no points are merged."""
    try:
        lift = Contraction().reduce(program.linear).lift
    except ReductionRefused:
        return program, None
    assert isinstance(lift, ContractionLift)
    return program.on_blocks(lift.P, lift.contracted), lift


def with_terms(program: SeparableSDP, attempt: Attempt) -> Attempt:
    """Return an attempt with the terms in its slack, and with multipliers of all declared constraints."""
    duals, cone = dict(attempt.duals), program.linear.cone
    if cone in duals:
        duals[cone] = sp.csr_array(duals[cone] + program.terms.adjoint(duals[program.name]))
    for name, parts in program.both_sides.items():
        if all(part in duals for part in parts):
            duals[name] = np.add(*(as_dense(duals[part]) for part in parts))
    return replace(attempt, duals=duals)
