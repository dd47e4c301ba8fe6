"""Chain fields: enumeration, gradients, logistic regression, CRFsuite."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import pansophy
from pansophy import optim
from pansophy.graphical import ChainCRF
from pansophy.graphical.crf.chain_crf import (
    WeightLayout,
    build_features,
    feature_counts,
    label_pair_counts,
    neg_log_likelihood,
)
from pansophy.params import ParameterError


def words(seed, many=30, vocabulary=12, k=3):
    """Sentences whose tags depend on the word and the tag before."""
    rng = np.random.default_rng(seed)
    T, W = 2 * rng.normal(size=(k, k)), 2 * rng.normal(size=(vocabulary, k))
    X, y = [], []
    for _ in range(many):
        n, tags, seen = rng.integers(1, 9), [], []
        for _ in range(n):
            word = rng.integers(vocabulary)
            logit = W[word] + (T[tags[-1]] if tags else 0)
            p = np.exp(logit - logit.max())
            tags.append(rng.choice(k, p=p / p.sum()))
            seen.append(word)
        X.append(
            [
                {
                    "word": f"w{w}",
                    "odd": bool(w % 2),
                    "size": float(w) / 4,
                    "first": t == 0,
                }
                for t, w in enumerate(seen)
            ]
        )
        y.append([f"t{v}" for v in tags])
    return X, y


def problem(seed, n=7, d=4, k=3, boundary=True, everything=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    ends = np.array([3, 4, n])
    codes = rng.integers(0, k, n)
    F = build_features(X, codes, k, everything)
    pairs = label_pair_counts(codes, ends, k)
    moves = np.arange(k * k) if everything else np.flatnonzero(pairs.ravel())
    layout = WeightLayout(k, len(F.label), moves, boundary)
    Y = np.eye(k)[codes]
    observed = feature_counts(F, layout, Y, pairs, ends)
    return X, F, layout, ends, codes, observed, rng.normal(size=layout.size)


def slow_surprise(theta, X, F, layout, ends, codes):
    """The same by writing out every labelling."""
    w, T, b, e = layout.split(theta)
    W = np.zeros((X.shape[1], layout.k))
    for a in range(X.shape[1]):
        for q in range(F.first[a], F.first[a + 1]):
            W[a, F.label[q]] = w[q]
    total = 0.0
    for begin, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
        U = X[begin:end] @ W

        def value(y, U=U):
            jumps = sum(T[i, j] for i, j in itertools.pairwise(y))
            return U[range(len(y)), y].sum() + jumps + b[y[0]] + e[y[-1]]

        every = itertools.product(range(layout.k), repeat=int(end - begin))
        log_z = np.logaddexp.reduce([value(list(y)) for y in every])
        total += log_z - value(codes[begin:end].tolist())
    return total


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=20, deadline=None)
def test_objective_is_that_of_enumeration_and_gradient_its_slope(seed, ends_too, every):
    X, F, layout, ends, codes, observed, theta = problem(
        seed, boundary=ends_too, everything=every
    )
    f = lambda v: neg_log_likelihood(v, F, layout, ends, observed)
    assert f(theta)[0] == pytest.approx(
        slow_surprise(theta, X, F, layout, ends, codes), abs=1e-9
    )
    slope = optim.numeric_gradient(lambda v: f(v)[0], theta)
    np.testing.assert_allclose(f(theta)[1], slope, atol=1e-6)


def test_large_weights_do_not_overflow():
    X, F, layout, ends, codes, observed, theta = problem(0)
    for scale in (100, -100):
        value, g = neg_log_likelihood(scale * theta, F, layout, ends, observed)
        slow = slow_surprise(scale * theta, X, F, layout, ends, codes)
        assert value == pytest.approx(slow, rel=1e-9) and np.isfinite(g).all()


def test_at_the_optimum_expected_counts_are_the_observed():
    X, y = words(0)
    model = ChainCRF(c2=0, max_iterations=3000, epsilon=1e-8, delta=0).fit(X[:8], y[:8])
    P = np.vstack(model.predict_proba(X[:8]))
    first = np.array([row["first"] for x in X[:8] for row in x], dtype=float)
    seen = np.array([v for part in y[:8] for v in part])
    for i, tag in enumerate(model.classes_):
        if ("first", tag) in model.state_features_:
            assert first @ P[:, i] == pytest.approx(first @ (seen == tag), abs=1e-2)


def test_single_tokens_are_logistic_regression():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = rng.integers(0, 3, 80)
    model = ChainCRF(
        c2=0.25,
        all_possible_states=True,
        fit_intercept=True,
        epsilon=1e-9,
        delta=0,
        max_iterations=500,
    ).fit(X, y, lengths=np.ones(80, int))
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000).fit(X, y)
    found = model.predict_proba(X, lengths=np.ones(80, int))
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("c1", [0.0, 0.3])
@pytest.mark.parametrize("every", [False, True])
def test_as_crfsuite(c1, every):
    peer_class = pytest.importorskip("sklearn_crfsuite").CRF
    X, y = words(2)
    how = {"c1": c1, "c2": 0.2, "all_possible_transitions": every}
    how |= {"all_possible_states": every, "max_iterations": 400}
    how |= {"epsilon": 1e-7, "delta": 1e-9}
    ours, peer = ChainCRF(**how).fit(X, y), peer_class(**how).fit(X, y)
    theirs = {(a, b): v for (a, b), v in peer.state_features_.items()}
    mine = ours.state_features_
    for key in set(theirs) | set(mine):
        assert mine.get(key, 0) == pytest.approx(theirs.get(key, 0), abs=5e-3)
    moves = peer.transition_features_
    for key, v in ours.transition_features_.items():
        assert v == pytest.approx(moves.get(key, 0), abs=5e-3)
    assert ours.predict(X) == [list(p) for p in peer.predict(X)]
    a, b = ours.predict_marginals(X[:2]), peer.predict_marginals(X[:2])
    for one, two in zip(itertools.chain(*a), itertools.chain(*b), strict=True):
        assert one == pytest.approx(two, abs=2e-3)


def test_every_form_of_input_says_the_same():
    X, y = words(3)
    flat = np.array([v for part in y for v in part])
    lengths = [len(part) for part in y]
    rows = [[t["odd"], t["size"], t["first"]] for part in X for t in part]
    dense = np.array(rows, dtype=float)
    how = {"all_possible_states": True, "boundary": True}
    a = ChainCRF(**how).fit(dense, flat, lengths)
    b = ChainCRF(**how).fit(scipy.sparse.csr_array(dense), flat, lengths)
    c = ChainCRF(**how).fit(np.split(dense, np.cumsum(lengths)[:-1]), y)
    for other in (b, c):
        np.testing.assert_allclose(other.coef_, a.coef_, atol=1e-10)
    np.testing.assert_array_equal(np.concatenate(c.predict(np.split(dense, [5]))),
        np.r_[a.predict(dense[:5]), a.predict(dense[5:])])  # fmt: skip


def test_paths_are_the_likeliest_and_likelihoods_add_up():
    X, y = words(4, many=12)
    model = ChainCRF(c2=0.1).fit(X, y)
    for x in X[:6]:
        if len(x) > 5:
            continue
        every = itertools.product(model.classes_.tolist(), repeat=len(x))
        p = {path: np.exp(model.log_likelihood([x], [list(path)])) for path in every}
        assert sum(p.values()) == pytest.approx(1)
        assert p[tuple(model.predict([x])[0])] == pytest.approx(max(p.values()))
    assert model.score(X, y) > 0.6


def test_rare_and_unknown_attributes(tmp_path):
    X, y = words(5)
    model = ChainCRF(min_freq=12).fit(X, y)
    assert 0 < len(model.attributes_) < len(ChainCRF().fit(X, y).attributes_)
    strange = [[{"word": "never", "hue": "red"}]]
    assert model.predict(strange)[0][0] in model.classes_
    pansophy.save(model, tmp_path / "tags.pansophy")
    again = pansophy.load(tmp_path / "tags.pansophy")
    assert again.predict(X) == model.predict(X)
    assert again.state_features_ == model.state_features_


def test_bad_input():
    X, y = words(6, many=3)
    with pytest.raises(ValueError, match="3 sequences, but y has 2"):
        ChainCRF().fit(X, y[:-1])
    moved = [y[0][:-1], [y[0][-1], *y[1]], *y[2:]]  # as many labels, wrongly cut
    with pytest.raises(ValueError, match="sequence 0 of X has"):
        ChainCRF().fit(X, moved)
    with pytest.raises(ValueError, match="lengths already"):
        ChainCRF().fit(X, y, lengths=[len(s) for s in X])
    with pytest.raises(ValueError, match="got the text 'ab'"):
        ChainCRF().fit([["ab", "c"]], [["u", "v"]])
    with pytest.raises(ValueError, match="put a single one into a list"):
        ChainCRF().fit(X[0], y[0])
    with pytest.raises(ValueError, match="all texts or all numbers"):
        ChainCRF().fit([[{"a": 1}, {"b": 1}]], [["a", 1]])
    with pytest.raises(ValueError, match="no sequences"):
        ChainCRF().fit([], [])
    with pytest.raises(ValueError, match="empty"):
        ChainCRF().fit([*X, []], y)
    with pytest.raises(ValueError, match="feature 'w' of a token"):
        ChainCRF().fit([[{"w": [1]}]], [["a"]])
    with pytest.raises(ParameterError, match="algorithm of ChainCRF"):
        ChainCRF("arow").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        ChainCRF().fit(np.array([[np.nan]]), ["a"])
    model = ChainCRF().fit(X, y)
    with pytest.raises(ValueError, match="not shown in fit"):
        model.log_likelihood(X, [["zz"] * len(part) for part in y])
    one = ChainCRF().fit(X, [["t0"] * len(part) for part in y])
    assert one.predict(X) == [["t0"] * len(part) for part in y]


def test_features_may_have_features():
    X = [[{"w": {"a": 1, "b": "x", "c": {"d": 2}}, "l": ["p", "q"]}, {"w": "y"}]]
    model = ChainCRF().fit(X, [["u", "v"]])
    found = ["w:a", "w:b:x", "w:c:d", "l:p", "l:q", "w:y"]
    assert model.attributes_ == found
    assert model.predict(iter(X)) == [["u", "v"]] and model.predict([]) == []
