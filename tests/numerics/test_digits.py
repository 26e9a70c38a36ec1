"""Numbers in messages."""

import numpy as np
import pytest

from cvxlink.numerics.digits import shown, shown_apart


@pytest.mark.parametrize(
    ("number", "text"),
    [(1 / 3, "0.333333"), (1 + 1e-9, "1.000000001"), (0.1 + 0.2, "0.3"), (-0.0, "0"), (1e-9, "1e-09"), (0.25, "0.25")],
)
def test_round_numbers_are_what_they_look_like(number, text):
    assert shown(number) == text


def test_different_numbers_look_different():
    for far in (1e-3, 1e-7, 1e-9, 1e-13, float(np.spacing(1.0))):
        one, other = shown_apart(1.0, 1.0 + far)
        assert one != other and float(other) > float(one)
    assert shown_apart(2.0, 2.0) == ("2", "2")
