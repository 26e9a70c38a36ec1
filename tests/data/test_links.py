from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl
from helpers.links import consistent_links

Y = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_pairs_are_unordered_and_merged():
    links = cl.Links(5, must=[(1, 0), (0, 1), (0, 1)], cannot=[(4, 2)])
    assert links.must.tolist() == [[0, 1]]
    assert links.cannot.tolist() == [[2, 4]]
    assert len(links) == 2


@pytest.mark.parametrize(
    "pairs",
    [[(0, 1), (2, 3)], np.array([[0, 1], [2, 3]]), np.array([[0.0, 1.0], [2.0, 3.0]]), {(0, 1), (3, 2)},
     pd.DataFrame({"a": [0, 2], "b": [1, 3]}), zip([0, 2], [1, 3], strict=True)],
    ids=["list", "array", "floats", "set", "frame", "iterator"],
)  # fmt: skip
def test_pairs_in_many_shapes(pairs):
    assert cl.Links(4, must=pairs).must.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([(0, 5)], r"\(0, 5\) names a point outside 0 … 4"),
        ([(-1, 2)], "outside"),
        ([(3, 3)], "joins a point to itself"),
        ([(0, 1, 2)], "pairs"),
        ([(0, 1), (2,)], "pairs"),
        ([(0.5, 1)], "whole numbers"),
        ([("a", "b")], "whole numbers"),
        ([(np.nan, 1)], "whole numbers"),
        (np.array([[True, False]]), "whole numbers"),
    ],
)
@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_bad_pairs_are_named(pairs, says, kind):
    with pytest.raises(cl.InvalidInput, match=says):
        cl.Links(5, **{kind: pairs})


def test_blocks_are_numbered_by_first_appearance():
    links = cl.Links(6, must=[(5, 1), (1, 3)])
    assert links.blocks.tolist() == [0, 1, 2, 1, 3, 1]
    assert links.n_blocks == 4


def test_contradiction_has_a_shortest_witness():
    links = cl.Links(7, must=[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3), (3, 5)], cannot=[(0, 3), (5, 6)])
    with pytest.raises(cl.InconsistentLinks) as caught:
        links.require_consistent()
    assert caught.value.pair == (0, 3)
    assert caught.value.path == (0, 4, 3)
    assert "0 – 4 – 3" in str(caught.value)


def test_a_pair_linked_both_ways_is_a_contradiction():
    assert cl.Links(3, must=[(0, 1)], cannot=[(1, 0)]).contradiction() == ((0, 1), (0, 1))


@given(consistent_links())
def test_closure_follows_from_the_links_and_is_closed(links):
    closed = links.closure()
    assert closed.closure() == closed
    assert np.array_equal(closed.blocks, links.blocks)
    # By definition: a must-link is entailed iff no labelling that respects the links separates the pair.
    together = {(i, j) for i, j in combinations(range(links.n), 2) if links.blocks[i] == links.blocks[j]}
    assert set(map(tuple, closed.must.tolist())) == together
    apart = {tuple(sorted((i, j))) for i, j in links.cannot.tolist()}
    blocks = links.blocks
    forbidden = {frozenset((blocks[i], blocks[j])) for i, j in apart}
    expected = {(i, j) for i, j in combinations(range(links.n), 2) if frozenset((blocks[i], blocks[j])) in forbidden}
    assert set(map(tuple, closed.cannot.tolist())) == expected


@given(consistent_links(), st.randoms(use_true_random=False))
def test_renumbering_commutes_with_closure(links, random):
    order = list(range(links.n))
    random.shuffle(order)
    assert links.closure().permuted(order) == links.permuted(order).closure()


@given(consistent_links())
def test_files_and_matrices_bring_back_the_same_links(tmp_path_factory, links):
    folder = tmp_path_factory.mktemp("links")
    assert cl.Links.load(links.save(folder / "links.json")) == links
    assert cl.Links.load(links.save(folder / "links.csv"), n=links.n) == links
    assert cl.Links.from_table(pd.read_csv(folder / "links.csv"), n=links.n) == links
    assert cl.Links.from_matrix(links.matrix) == links
    assert cl.Links.from_matrix(sp.triu(links.matrix)) == links


def test_csv_is_what_it_says(tmp_path):
    path = cl.Links(4, must=[(0, 1)], cannot=[(1, 3)]).save(tmp_path / "x.csv")
    assert path.read_text().splitlines() == ["i,j,kind", "0,1,must", "1,3,cannot"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "i,j,kind\n0,1,must\n0,x,must\n", "line 3"),
        ("a.csv", "i,j,kind\n0,1,perhaps\n", "line 2: kind"),
        ("a.csv", "a,b\n0,1\n", "header"),
        ("a.csv", "i,j,kind\n0,1\n", "three cells"),
        ("a.csv", "i,j,kind\n0,9,must\n", "outside"),
        ("a.json", "{", "not a file of links"),
        ("a.json", json.dumps({"n": 4, "must": []}), "needs an object with n, must and cannot"),
        ("a.json", json.dumps({"n": "4", "must": [], "cannot": []}), "n must be a whole number, not '4'"),
        ("a.json", json.dumps({"n": 7, "must": [], "cannot": []}), "7 points, not 4"),
        ("a.txt", "", ".json or .csv"),
    ],
)
def test_bad_files_are_named(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(cl.InvalidInput, match=says):
        cl.Links.load(tmp_path / name, n=4)


def test_missing_file_and_missing_n(tmp_path):
    with pytest.raises(cl.InvalidInput, match="no file"):
        cl.Links.load(tmp_path / "none.json")
    cl.Links(3).save(tmp_path / "x.csv")
    with pytest.raises(cl.InvalidInput, match="number of points"):
        cl.Links.load(tmp_path / "x.csv")


def test_matrix_with_opposite_signs_is_refused():
    with pytest.raises(cl.InvalidInput, match=r"opposite signs at \(0, 1\)"):
        cl.Links.from_matrix([[0, 1], [-1, 0]])


def test_labels_link_every_known_pair():
    links = cl.Links.from_labels([0, -1, 0, 1])
    assert links.must.tolist() == [[0, 2]]
    assert links.cannot.tolist() == [[0, 3], [2, 3]]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", -1, "a"],
        ["a", "b", None, "a"],
        pd.Series(["a", "b", np.nan, "a"]),
        pd.Series(["a", "b", None, "a"], dtype="string"),
        np.array(["a", "b", "-1", "a"]),
    ],
)
def test_unknown_labels_among_names(labels):
    links = cl.Links.from_labels(labels)
    assert links.must.tolist() == [[0, 3]] and links.cannot.tolist() == [[0, 1], [1, 3]]


def test_links_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        cl.Links(3, must=[(0, 1)]).must[0, 0] = 2


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], None, "abc", [0.0, 1.0, 2.0]])
def test_renumbering_takes_a_permutation(order):
    with pytest.raises(cl.InvalidInput, match="each of the numbers 0 … 2 once"):
        cl.Links(3).permuted(order)
    with pytest.raises(cl.InvalidInput, match="each of the numbers 0 … 2 once"):
        cl.Graph.from_affinity(np.ones((3, 3))).permuted(order)


def test_tables_and_files_that_cannot_be(tmp_path):
    with pytest.raises(cl.InvalidInput, match="equally long"):
        cl.Links.from_table({"i": [0], "j": [1, 2], "kind": ["must"]}, n=3)
    with pytest.raises(cl.InvalidInput, match="columns i, j and kind"):
        cl.Links.from_table(pd.DataFrame({"i": [0]}), n=3)
    with pytest.raises(cl.InvalidInput, match="cannot be written"):
        cl.Links(3).save(tmp_path / "none" / "x.csv")
    (tmp_path / "latin.csv").write_bytes("i,j,kind\n0,1,müst\n".encode("latin-1"))
    with pytest.raises(cl.InvalidInput, match="UTF-8"):
        cl.Links.load(tmp_path / "latin.csv", n=3)
    (tmp_path / "far.csv").write_text("i,j,kind\n0,1000000000000000000000000000000,must\n")
    with pytest.raises(cl.InvalidInput, match=r"far.csv: the must-link \(0, 1e\+30\) names a point outside"):
        cl.Links.load(tmp_path / "far.csv", n=3)


def test_sampling_a_number_of_links():
    links = cl.Links.sample(Y, n_links=20, random_state=0)
    assert len(links) == 20
    assert (Y[links.must[:, 0]] == Y[links.must[:, 1]]).all()
    assert (Y[links.cannot[:, 0]] != Y[links.cannot[:, 1]]).all()
    assert cl.Links.sample(Y, n_links=20, random_state=0) == links
    assert cl.Links.sample(Y, n_links=20, random_state=1) != links


def test_sampling_all_pairs_gives_each_once():
    assert cl.Links.sample(Y, n_links=45) == cl.Links.from_labels(Y)


def test_sampling_is_uniform_over_pairs():
    rng = np.random.default_rng(0)
    count = np.zeros((4, 4))
    for _ in range(3000):
        links = cl.Links.sample([0, 0, 0, 0], n_links=1, random_state=rng)
        count[tuple(links.must[0])] += 1
    observed = count[np.triu_indices(4, 1)]
    chi_square = ((observed - 500) ** 2 / 500).sum()
    assert chi_square < 20.5  # 99.9 % for five degrees of freedom


def test_the_kp_protocol():
    links = cl.Links.sample(Y, per_class=2, random_state=5)
    for c in range(3):
        assert (Y[links.must] == c).all(axis=1).sum() == 2
    for a, b in combinations(range(3), 2):
        assert (np.sort(Y[links.cannot], axis=1) == [a, b]).all(axis=1).sum() == 2
    links.require_consistent()


def test_one_class_and_unknown_labels_can_be_sampled():
    assert len(cl.Links.sample([0, 0, 0], per_class=2).cannot) == 0
    links = cl.Links.sample([0, 0, -1, -1, 1, 1], per_class=1, random_state=0)
    assert set(links.linked) <= {0, 1, 4, 5}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "either"),
        ({"n_links": 3, "per_class": 1}, "either"),
        ({"n_links": 46}, "between 0 and 45"),
        ({"per_class": 4}, "only 3 possible must-links in class 1"),
        ({"n_links": -1}, "between"),
        ({"n_links": 2, "random_state": "x"}, "random_state"),
    ],
)
def test_impossible_samples_are_named(parameters, says):
    with pytest.raises(cl.InvalidInput, match=says):
        cl.Links.sample(Y, **parameters)


def test_a_clique_of_cannot_links_bounds_the_clusters_from_below():
    triangle = cl.Links(6, must=[(2, 3)], cannot=[(0, 1), (1, 2), (0, 3), (4, 5)])
    assert triangle.least_clusters() == 3
    assert cl.Links(6).least_clusters() == 1


def test_violated_counts_both_kinds():
    links = cl.Links(4, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
    assert links.violated([0, 0, 1, 1]) == 0
    assert links.violated([0, 1, 0, 0]) == pytest.approx(2 / 4)
    assert cl.Links(4).violated([0, 0, 0, 0]) == 0


# ---------------------------------------------------------------------- links and labels


@given(st.lists(st.integers(-1, 3), min_size=2, max_size=12))
def test_labels_become_links_and_come_back(labels):
    labels = np.array(labels)
    known = labels >= 0
    back = cl.Links.from_labels(labels).to_labels()
    if known.sum() < 2:
        assert (back == -1).all()  # a single label says nothing about pairs
        return
    np.testing.assert_array_equal(back >= 0, known)
    np.testing.assert_array_equal(back[known][:, None] == back[known], labels[known][:, None] == labels[known])


@given(consistent_links(), st.data())
def test_what_follows_holds_in_every_clustering_that_respects_the_links(links, data):
    """Brute force: a label is given exactly where all clusterings into so many classes agree on it, or fewer."""
    from itertools import product

    n = links.n
    if n > 7:
        return
    known = data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(0, 2), min_size=1, max_size=2))
    partial = np.array([known.get(i, -1) for i in range(n)])
    classes = sorted(set(known.values()))
    possible = [
        c
        for c in product(classes, repeat=n)
        if all(c[i] == v for i, v in known.items())
        and all(c[i] == c[j] for i, j in links.must)
        and all(c[i] != c[j] for i, j in links.cannot)
    ]
    try:
        found = links.to_labels(partial, n_classes=len(classes))
    except cl.InvalidInput:
        assert not possible
        return
    for clustering in possible:
        assert all(found[i] in (-1, clustering[i]) for i in range(n))


def test_labels_follow_links():
    links = cl.Links(8, must=[(0, 1), (2, 3)], cannot=[(1, 2), (3, 4)])
    assert links.to_labels().tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    assert links.to_labels(n_classes=2).tolist() == [0, 0, 1, 1, 0, -1, -1, -1]
    assert links.to_labels(n_classes=3).tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    names = ["-1", "a", "-1", "-1", "-1", "-1", "-1", "bee"]
    assert links.to_labels(names, n_classes=2).tolist() == ["a", "a", "bee", "bee", "a", "-1", "-1", "bee"]
    assert cl.Links(4, must=[(1, 2), (2, 3)]).to_labels().tolist() == [-1, 0, 0, 0]
    assert cl.Links(3).to_labels().tolist() == [-1, -1, -1]


def test_labels_and_links_together():
    links = cl.Links(6, must=[(0, 1), (2, 3)], cannot=[(1, 4)])
    both = links.with_labels([-1, 7, 7, -1, -1, 9])
    assert both == cl.Links(6, must=[(0, 1), (2, 3), (1, 2)], cannot=[(1, 4), (1, 5), (2, 5)])
    assert both.to_labels().tolist()[:4] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("labels", "pair", "path"),
    [
        ([0, 1, -1, -1], (0, 1), (0, 1)),  # must-linked, and labelled apart
        ([0, -1, -1, 0], (2, 3), (2, 1, 0, 3)),  # cannot-linked, and joined by a label in the middle
        ([-1, "b", "b", -1], None, None),
    ],
)
def test_contradictions_between_labels_and_links_have_a_witness(labels, pair, path):
    links = cl.Links(4, must=[(0, 1), (1, 2)], cannot=[(2, 3)])
    labels = np.array([str(label) for label in labels]) if "b" in labels else np.array(labels)
    if pair is None:
        links.with_labels(labels)
        return
    for call in (links.with_labels, links.to_labels):
        with pytest.raises(cl.InconsistentLinks, match="labels") as caught:
            call(labels)
        assert caught.value.pair == pair and caught.value.path in (path, path[::-1])
        assert all(caught.value.labels[p] == labels[p] for p in path if labels[p] >= 0)
        import pickle

        assert pickle.loads(pickle.dumps(caught.value)).labels == caught.value.labels


def test_too_few_classes_for_the_links():
    square = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    with pytest.raises(cl.InvalidInput, match="is cannot-linked to all 2 classes"):
        cl.Links(5, cannot=square).to_labels(n_classes=2)
    with pytest.raises(cl.InvalidInput, match="the points 0, 1, 2 are pairwise kept apart"):
        cl.Links(3, cannot=[(0, 1), (1, 2), (0, 2)]).to_labels(n_classes=2)
    with pytest.raises(cl.InvalidInput, match="n_classes is 3, but the labels name 1"):
        cl.Links(3).to_labels([0, -1, -1], n_classes=3)


def test_entries_given_twice_are_added():
    twice = sp.coo_array(([0.3, 0.3, 1.0, -0.5], ([0, 0, 1, 1], [1, 1, 2, 2])), shape=(3, 3))
    assert cl.Links.from_matrix(twice, threshold=0.4) == cl.Links(3, must=[(0, 1), (1, 2)])
    with pytest.raises(cl.InvalidInput, match="complex"):
        cl.Links.from_matrix(sp.csr_array(1j * np.eye(2)))


def test_a_soft_matrix_becomes_links_above_a_threshold():
    Q = np.array([[5, 0.9, -0.2], [0.9, 5, -0.7], [-0.2, -0.7, 5]])
    assert cl.Links.from_matrix(Q, threshold=0.5) == cl.Links(3, must=[(0, 1)], cannot=[(1, 2)])
    assert len(cl.Links.from_matrix(Q)) == 3
    with pytest.raises(cl.InvalidInput, match="threshold must be zero or more"):
        cl.Links.from_matrix(Q, threshold=-1)
