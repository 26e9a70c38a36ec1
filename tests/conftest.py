from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

import cvxlink as cl

# The same examples every time: a run that is red can be repeated.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def small_iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = cl.datasets.load("iris")
    return X[::5], y[::5]


@pytest.fixture(scope="session")
def small_pcp(small_iris) -> cl.PCP:
    X, y = small_iris
    return cl.PCP(cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=2, random_state=1))
