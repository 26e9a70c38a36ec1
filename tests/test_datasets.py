from __future__ import annotations

from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

import cvxlink as cl


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [("iris", (150, 4), 3), ("wine", (178, 13), 3), ("wdbc", (569, 30), 2), ("digits", (1797, 64), 10),
     ("two_moons", (200, 2), 2), ("blobs", (150, 2), 3), ("four_lines", (200, 2), 2), ("control", (600, 60), 6)],
)  # fmt: skip
def test_shapes(name, shape, classes):
    X, y = cl.datasets.load(name)
    assert X.shape == shape
    assert len(np.unique(y)) == classes


@pytest.mark.parametrize("name", ["two_moons", "blobs", "four_lines", "control"])
def test_generators_repeat_themselves(name):
    first, again = cl.datasets.load(name, random_state=4), cl.datasets.load(name, random_state=4)
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], cl.datasets.load(name, random_state=5)[0])


def test_control_charts_follow_their_formulas():
    X, y = cl.datasets.control(per_class=400, random_state=0)
    t = np.arange(60)
    kinds = [X[y == k] - 30 for k in range(6)]
    assert abs(kinds[0]).max() <= 6 and kinds[0].std() == pytest.approx(12 / np.sqrt(12), rel=0.02)
    slopes = [np.polyfit(t, kinds[k].T, 1)[0].mean() for k in (2, 3)]
    assert slopes == pytest.approx([0.35, -0.35], abs=0.02)  # the mean of U(0.2, 0.5)
    steps = [kinds[k][:, 41:].mean() - kinds[k][:, :20].mean() for k in (4, 5)]
    assert steps == pytest.approx([13.75, -13.75], abs=0.7)  # the mean of U(7.5, 20)
    power = (kinds[1] ** 2).mean() - 12  # the noise has variance 12; a sine of amplitude a has a²/2
    assert power == pytest.approx((15**3 - 10**3) / 15 / 2, rel=0.05)


def test_four_lines_puts_each_class_on_two_separate_lines():
    X, y = cl.datasets.four_lines(n=80, noise=0.01, random_state=0)
    assert set(np.round(X[y == 0, 1])) == {0, 2}
    assert set(np.round(X[y == 1, 1])) == {1, 3}


def test_a_file_of_the_user_is_read(tmp_path, monkeypatch):
    np.savez(tmp_path / "protein.npz", X=np.eye(3, dtype="float32"), y=np.array([1, 2, 2], dtype="int16"))
    monkeypatch.setenv("CVXLINK_DATA", str(tmp_path))
    X, y = cl.datasets.load("protein")
    assert X.dtype == float and y.tolist() == [1, 2, 2]


def test_without_data_the_error_says_where_to_get_it(monkeypatch):
    monkeypatch.delenv("CVXLINK_DATA", raising=False)
    with pytest.raises(cl.DataUnavailable, match="CVXLINK_DATA.*Carnegie Mellon"):
        cl.datasets.load("pie")


def test_a_broken_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "protein.npz").write_bytes(b"not a zip")
    monkeypatch.setenv("CVXLINK_DATA", str(tmp_path))
    with pytest.raises(cl.DataUnavailable, match=r"protein\.npz' cannot be read"):
        cl.datasets.load("protein")


def test_openml_is_asked_by_id_and_incomplete_rows_are_dropped(monkeypatch):
    monkeypatch.delenv("CVXLINK_DATA", raising=False)

    def fetch_openml(data_id, **_):
        assert data_id == 62
        return SimpleNamespace(
            data=np.array([[7, 1.0, 2.0], [8, np.nan, 1.0], [9, 0.0, 0.0]]),
            target=np.array(["bird", "fish", "fish"]),
            feature_names=["animal", "legs", "tail"],
        )

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch_openml)
    X, y = cl.datasets.load("zoo")
    assert X.tolist() == [[1, 2], [0, 0]] and y.tolist() == [0, 1]


def test_subsets_take_the_first_images_of_each_digit(monkeypatch):
    monkeypatch.delenv("CVXLINK_DATA", raising=False)
    digits = np.tile(np.arange(10), 300)

    def fetch_openml(data_id, **_):
        X = np.arange(3000.0)[:, None]
        return SimpleNamespace(data=X, target=(digits + 1).astype(str), feature_names=["x"])

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch_openml)
    X, y = cl.datasets.load("usps0123")
    assert np.bincount(y).tolist() == [250] * 4
    assert X[y == 2].ravel().tolist() == list(range(2, 2500, 10))


def test_without_network_the_error_says_what_else(monkeypatch):
    monkeypatch.delenv("CVXLINK_DATA", raising=False)

    def fetch_openml(**_):
        raise URLError("no network")

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch_openml)
    with pytest.raises(cl.DataUnavailable, match="OpenML.*no network.*CVXLINK_DATA"):
        cl.datasets.load("sonar")


def test_unknown_names_and_parameters():
    with pytest.raises(cl.InvalidInput, match="there are: iris"):
        cl.datasets.load("irish")
    with pytest.raises(cl.InvalidInput, match="no parameters"):
        cl.datasets.load("iris", n=3)
