"""What a certificate says, for minimisations and maximisations."""

from __future__ import annotations

import pytest

import cvxlink as cl


def mirrored(certificate: cl.Certificate) -> cl.Certificate:
    """Return the certificate of the same answer with the objective negated."""
    lower, upper = certificate.lower_bound, certificate.upper_bound
    return cl.Certificate(
        -certificate.value,
        certificate.violations,
        lower_bound=None if upper is None else -upper,
        upper_bound=None if lower is None else -lower,
        maximises=not certificate.maximises,
        sensitivity=certificate.sensitivity,
    )


CASES = {
    "proven": cl.Certificate(1.0, {"a": 0.0}, lower_bound=0.99999, upper_bound=1.00001),
    "not optimal": cl.Certificate(1.0, {"a": 0.0}, lower_bound=0.5, upper_bound=1.0),
    "below its bound": cl.Certificate(1.0, {"a": 0.0}, lower_bound=1.5),
    "not feasible": cl.Certificate(1.0, {"a": 0.3}, lower_bound=1.0),
    "far from feasible points": cl.Certificate(1.0, {"a": 0.0}, lower_bound=1.0, upper_bound=2.0),
    "violations that matter": cl.Certificate(1.0, {"a": 1e-9}, lower_bound=1.0, sensitivity=0.5),
    "no bound": cl.Certificate(1.0, {"a": 0.0}, upper_bound=1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_negating_the_objective_changes_no_judgement(name):
    one, other = CASES[name], mirrored(CASES[name])
    assert other.gap == one.gap and other.has_bound == one.has_bound
    assert other.holds(1e-4) == one.holds(1e-4)
    assert other.holds(0.6) == one.holds(0.6)
    assert mirrored(other) == one


def test_the_proven_bound_of_a_maximisation_is_the_upper_one():
    certificate = cl.Certificate(2.0, {"a": 0.0}, lower_bound=1.9, upper_bound=2.1, maximises=True, basis="duality")
    assert (certificate.bound, certificate.attained) == (2.1, 1.9)
    assert certificate.gap == pytest.approx(0.2)
    lines = str(certificate).splitlines()
    assert lines[1].startswith("lower bound    1.9 ") and "made exactly feasible" in lines[1]
    assert lines[2].startswith("upper bound    2.1 ") and "duality" in lines[2]


def test_a_feasible_point_alone_proves_nothing():
    certificate = cl.Certificate(2.0, {"a": 0.0}, lower_bound=2.0, maximises=True, basis="nobody knows")
    assert not certificate.has_bound and certificate.gap is None
    assert "upper bound    none: nobody knows" in str(certificate)


def test_the_distance_decides_only_where_there_is_no_bound():
    bounded = cl.Certificate(2.0, {"rows": 0.0}, lower_bound=2.0, distance=0.5, norm=1.0)
    assert bounded.holds(1e-6) and bounded.gap == 0
    alone = cl.Certificate(2.0, {"rows": 0.0}, distance=0.5, norm=1.0)
    assert not alone.holds(1e-6) and alone.holds(0.5)
    assert not cl.Certificate(2.0, {"rows": 0.0}, lower_bound=1.9, distance=0.0).holds(1e-2)
