"""Checks on arguments: what they accept, and that each refusal is one short sentence about its argument."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.numerics import arguments, checks


class Unhelpful:
    """An object whose protocols raise errors of their own."""

    def _refuse(self, *_: Any) -> Any:
        raise LookupError("no")

    __array__ = __len__ = __iter__ = __float__ = __repr__ = __fspath__ = __bool__ = _refuse


def each(name: str, values: list[Any]) -> pytest.MarkDecorator:
    """Test each value; they are numbered, as some cannot be shown."""
    return pytest.mark.parametrize(name, values, ids=range(len(values)))


def nested(depth: int = 3000) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def refused(check: Callable[..., Any], *given: Any, argument: str) -> str:
    with pytest.raises(cl.InvalidInput) as error:
        check(*given)
    message = str(error.value)
    assert error.value.argument == argument
    assert len(message) < 400 and message.isprintable()
    return message


WRONG: list[Any] = [None, "a", b"a", {}, object(), Unhelpful(), nested(), np.timedelta64(3, "s"), 1j, True]


@each("value", [Unhelpful(), nested(), 10**5000, "a" * 10**5, "\x1b[31m\0\ud800", np.eye(50)])
def test_any_value_is_shown_in_one_short_line(value: Any):
    text = arguments.shown(value)
    assert text.isprintable() and len(text) <= 81 and text.encode()


def test_what_is_shown_is_the_value():
    assert arguments.shown(3) == "3" and arguments.shown("x") == "'x'" and arguments.shown([1, 2]) == "[1, 2]"


@each("value", [*WRONG, 0.5, np.nan, Decimal(1), Fraction(1, 2), np.float64(2)])
def test_counts_are_whole_numbers(value: Any):
    assert "whole number" in refused(checks.as_count, value, "k", argument="k")


@each("value", [0, -1, 10, 10**5000])
def test_counts_have_limits(value: int):
    assert "between 1 and 9" in refused(checks.as_count, value, "k", 1, 9, argument="k")
    assert checks.as_count(np.int8(9), "k", 1, 9) == 9


@each("value", [*WRONG, np.nan, np.inf, -1, 10**400, Decimal("sNaN"), Fraction(10**400, 3)])
def test_numbers_are_finite(value: Any):
    refused(checks.as_positive, value, "mu", argument="mu")
    if type(value) is not int or value > 0:
        refused(checks.as_number, value, "mu", argument="mu")
    assert checks.as_positive(Fraction(1, 4), "mu") == 0.25


def test_a_real_number_may_be_infinite_or_nan():
    assert checks.as_real(np.inf, "value") == np.inf and np.isnan(checks.as_real(float("nan"), "value"))
    refused(checks.as_real, "nan", "value", argument="value")


@each("value", [*WRONG[1:], -1, 0.5, [], [1, -1], [[1, 2]], np.matrix(np.eye(2)), np.eye(2), np.arange(2.0), np.random])
def test_random_states_are_checked_before_numpy_sees_them(value: Any):
    refused(checks.as_generator, value, argument="random_state")


def test_sequences_that_would_end_the_process():
    """numpy's default_rng dies of these, so they are tried in another process."""
    code = (
        "import numpy as np, cvxlink as cl\n"
        "loop = []; loop.append(loop)\n"
        "for state in (np.matrix(np.eye(2)), loop):\n"
        "    try: cl.datasets.two_moons(8, random_state=state)\n"
        "    except cl.InvalidInput as error: print(error.argument)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["random_state"] * 2)


@each("state", [None, 3, [3, 1], np.array([3, 1]), np.random.default_rng(3), np.random.RandomState(3)])
def test_random_states_that_are_accepted(state: Any):
    assert isinstance(checks.as_generator(state), np.random.Generator)


def test_the_same_seed_gives_the_same_numbers():
    for seed in (5, [5, 6], np.array([5, 6])):
        one, other = (checks.as_generator(seed).integers(10**9, size=4) for _ in range(2))
        assert (one == other).all()


def test_checking_a_random_state_draws_nothing():
    state = np.random.RandomState(0)
    checks.require_random_state(state)
    assert state.randint(10**9) == np.random.RandomState(0).randint(10**9)


@each(
    "values",
    [
        *WRONG[1:7],
        [[1, 2], [3]],
        np.array(["2020-01-01"] * 2, dtype="datetime64[D]"),
        np.array([object()]),
        np.zeros(2, dtype=[("a", float)]),
        [10**400],
        np.full(2, 1j),
        sp.eye_array(2),
    ],
)
def test_arrays_hold_real_numbers(values: Any):
    refused(checks.real_array, values, "W", argument="W")


def test_masked_entries_become_nan():
    masked = np.ma.masked_array([1, 2], mask=[True, False])
    assert np.isnan(checks.real_array(masked, "W")).tolist() == [True, False]


@each("values", [sp.eye_array(3) * np.nan, sp.eye_array(3) * 1j, sp.eye_array(2), np.eye(2), [1, 2, 3]])
def test_matrices_have_their_shape_and_finite_entries(values: Any):
    refused(checks.as_matrix, values, "L", (3, 3), argument="L")
    assert "because K" in refused(checks.as_matrix, np.eye(2), "L", (3, 3), None, "K is larger", argument="L")
    assert (checks.as_matrix(sp.eye_array(3, format="lil"), "L", (3, None)).toarray() == np.eye(3)).all()


@each("values", [*WRONG[:7], 0.5, [3], [-1], np.array([True, False, True]), [[0], [1, 2]], [2**70]])
def test_numbers_of_points_lie_within_the_points(values: Any):
    refused(checks.as_numbers_of_points, values, 3, "i", argument="i")
    assert checks.as_numbers_of_points([[0, 2]], 3, "i").tolist() == [[0, 2]]


@each("values", [*WRONG[:7], [[0, 1]], [10**400] * 2, [np.nan, 1.0], [Unhelpful()] * 2])
def test_labels_are_numbers_or_names(values: Any):
    refused(checks.as_labels, values, None, "y", argument="y")


@each("path", [*WRONG, 0, "", "a\0b", "\ud800", "a" * 10**5, Path("a" * 300), bytes(Path("x"))])
def test_paths_can_be_names_of_files(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    if path != "a":
        refused(arguments.as_path, path, "out", argument="out")
    assert arguments.as_path("no/such/file") == Path("no/such/file") and not os.listdir(tmp_path)


def test_words_mappings_and_objects():
    assert "'a', 'b' or 'c'" in refused(arguments.as_choice, Unhelpful(), "way", "abc", argument="way")
    refused(arguments.as_choice, np.array(["a", "b"]), "way", "abc", argument="way")
    refused(arguments.as_mapping, {1: 2}, "duals", argument="duals")
    refused(arguments.as_list, Unhelpful(), "which", "names", argument="which")
    refused(arguments.as_list, "name", "which", "names", argument="which")
    refused(arguments.as_instance, nested(), dict, "graph", "a Graph", argument="graph")
    assert arguments.as_list((i for i in range(3)), "which", "numbers") == [0, 1, 2]


X = np.random.default_rng(0).standard_normal((8, 2))
GRAPH, LINKS = cl.Graph.knn(X, 3), cl.Links(8, must=[(0, 1)], cannot=[(2, 3)])


@pytest.mark.parametrize(
    "call, argument",
    [
        (lambda: cl.Graph.knn(nested(), 3), "X"),
        (lambda: cl.Links(8, must=nested()), "must"),
        (lambda: cl.Links(10**9), "n"),
        (lambda: cl.KP(LINKS, GRAPH), "graph"),
        (lambda: cl.PCP(GRAPH, cl.Links(5)), "links"),
        (lambda: cl.GFHF(GRAPH, Unhelpful()), "labels"),
        (lambda: cl.metrics.nmi(Unhelpful(), [0] * 8), "y"),
        (lambda: cl.datasets.blobs(n=10**9), "n"),
        (lambda: cl.datasets.blobs(dimension=10**9), "dimension"),
        (lambda: cl.clustering.kernel_kmeans(np.eye(8), 2, n_init=10**9), "n_init"),
        (lambda: cl.Graph.from_affinity(sp.csr_array((10**6, 10**6), dtype=complex)), "W"),
        (lambda: cl.plotting.plot_kernel(sp.csr_array((10**6, 10**6))), "K"),
        (lambda: LINKS.to_labels(n_classes=10**9), "n_classes"),
        (lambda: LINKS.save(0), "path"),
        (lambda: cl.PCP(GRAPH, LINKS).solve(form=""), "form"),
        (lambda: cl.PCP(GRAPH, LINKS).solve(random_state=np.matrix(np.eye(2))), "random_state"),
        (lambda: cl.PCP(GRAPH, LINKS).solve(solver=np.eye(2)), "solver"),
        (lambda: cl.certify(Unhelpful(), {}), "problem"),
        (lambda: cl.certify(cl.PCP(GRAPH, LINKS), nested()), "values"),
        (lambda: cl.Contraction().apply(Unhelpful()), "program"),
        (lambda: cl.terms.semidefinite(Unhelpful()), "K"),
        (lambda: cl.studies.link_curve(GRAPH, [0, 1] * 4, n_links=5), "n_links"),
    ],
)
def test_one_door_for_each_kind_of_wrong_value(call: Callable[[], Any], argument: str):
    refused(call, argument=argument)
