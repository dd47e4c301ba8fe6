"""One battery for every recommender: the contract of the role."""

import inspect
import warnings
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import estimator_checks

from pansophy import persist, recommend
from pansophy.base import Estimator, InterruptedFitWarning
from pansophy.datasets import make_ratings
from pansophy.params import rules_of
from pansophy.recommend import (
    ALS,
    BiasModel,
    ContentRecommender,
    HybridRecommender,
    ItemKNN,
    Ratings,
    Recommender,
    SGDFactorization,
    SVDRecommender,
    UserKNN,
    als,
    bias_model,
    sgd_factorization,
)

FEATURES = np.random.default_rng(0).normal(size=(40, 4))


MODELS = [
    BiasModel(),
    UserKNN(5),
    ItemKNN(5),
    ItemKNN(5, implicit=True, metric="cosine"),
    ALS(3, random_state=0),
    ALS(3, implicit=True, random_state=0, max_iter=500),
    SGDFactorization(3, random_state=0),
    SVDRecommender(3, random_state=0),
    ContentRecommender(FEATURES),
    HybridRecommender([BiasModel(), ItemKNN(5)], weights=[0.4, 0.6]),
]


ids = lambda m: type(m).__name__ + ("-implicit" if getattr(m, "implicit", 0) else "")


# stochastic descent visits the ratings in a random order of their rows
ORDERLESS = [m for m in MODELS if not isinstance(m, SGDFactorization)]


every = pytest.mark.parametrize("model", MODELS, ids=ids)


CLASSES = sorted({type(m) for m in MODELS}, key=lambda c: c.__name__)


@pytest.fixture(scope="module")
def ratings():
    return Ratings.from_frame(make_ratings(60, 40, 900), time="time")


def test_the_list_is_complete():
    public = {getattr(recommend, name) for name in recommend.__all__}
    made = {c for c in public if inspect.isclass(c) and issubclass(c, Recommender)}
    assert made - {Recommender} == set(CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_anatomy(cls):
    assert is_dataclass(cls) and cls.__eq__ is object.__eq__
    assert issubclass(cls, Estimator) and not cls.__subclasses__()
    names = {f.name for f in fields(cls)}
    assert set(rules_of(cls)) == names
    text = inspect.getdoc(cls)
    assert all(f"{n} : " in text or f", {n}" in text or f"{n}, " in text for n in names)
    for name in names - {"verbose"}:
        X, y = [[1, 1], [2, 1]], [1, 2]
        with pytest.raises(ValueError, match=f"{name} of {cls.__name__} must be"):
            clone(cls().set_params(**{name: object()})).fit(X, y)


BARE = (
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_repr",
    "check_estimator_cloneable",
)


@pytest.mark.parametrize("name", BARE)
@pytest.mark.parametrize("cls", CLASSES)
def test_scikit_learn_checks_that_need_no_table(cls, name):
    # the generator stops at the first: it cannot make pairs of users and items
    assert estimator_checks.__dict__[name](cls.__name__, cls()) is None


@every
def test_all_that_can_be_asked(model, ratings):
    model = clone(model).fit(ratings)
    full = model.complete()
    assert full.shape == ratings.shape and np.isfinite(full).all()
    np.testing.assert_allclose(
        model.predict(ratings), full[ratings.users, ratings.items], atol=1e-9
    )
    pairs = ratings.pairs()[:7]
    np.testing.assert_allclose(model.predict(pairs), model.predict(ratings)[:7])
    np.testing.assert_allclose(
        model.predict(pairs[:, 0], pairs[:, 1]), model.predict(pairs)
    )
    assert np.isfinite(model.score(ratings))
    top = model.recommend(ratings.user_names[:5], 6)
    assert top.names.shape == top.scores.shape == (5, 6)
    for row, u in enumerate(range(5)):
        seen = ratings.items[ratings.users == u]
        open_ = np.setdiff1d(np.arange(40), seen)
        best = np.sort(full[u, open_])[::-1][:6]
        np.testing.assert_allclose(top.scores[row], best, atol=1e-9)
        codes = np.searchsorted(ratings.item_names, top.names[row])
        assert not set(codes) & set(seen)
    one = model.recommend(ratings.user_names[0], 6)
    np.testing.assert_array_equal(one.names, top.names[0])
    everything = model.recommend(ratings.user_names[0], 40, exclude_seen=False)
    assert len(everything.names) == 40
    assert (np.diff(everything.scores) <= 1e-12).all()
    few = model.recommend(ratings.user_names[0], 6, items=ratings.item_names[:3],
                          exclude_seen=False)  # fmt: skip
    assert set(few.names) == set(ratings.item_names[:3])


@every
def test_long_lists_are_the_same_as_short_ones(model, ratings):
    from pansophy.recommend import recommender

    model = clone(model).fit(ratings)
    users = ratings.user_names[:8]
    short = model.recommend(users, 40, exclude_seen=False)
    few, recommender.MAX_SELECTED = recommender.MAX_SELECTED, 5
    try:
        long = model.recommend(users, 40, exclude_seen=False)
    finally:
        recommender.MAX_SELECTED = few
    np.testing.assert_array_equal(short.names, long.names)


@every
def test_strangers_and_empty_rows_are_defined(model, ratings):
    wide = ratings.with_names(users=np.r_[ratings.user_names, 10**6])
    model = clone(model).fit(wide)
    out = model.predict([[10**6, 1], [-5, 1], [0, -5], [-5, -5]])
    assert np.isfinite(out).all()
    assert out[0] == pytest.approx(out[1])  # no ratings is as good as unknown
    a, b = model.recommend(10**6, 5), model.recommend(-5, 5)
    np.testing.assert_array_equal(a.names, b.names)
    assert len(a.names) == 5
    both = model.recommend([0, -5], 5).names
    np.testing.assert_array_equal(both[1], b.names)


@every
def test_one_rating_only(model):
    if isinstance(model, ContentRecommender):
        model = ContentRecommender(np.ones((1, 2)), items=["tea"])
    model = clone(model).fit([["ann", "tea"]], [4.0])
    assert np.isfinite(model.predict([["ann", "tea"], ["bob", "ale"]])).all()
    assert len(model.recommend("ann").names) == 0
    assert model.recommend("ann", exclude_seen=False).names.tolist() == ["tea"]
    assert model.recommend(["ann", "bob"]).names.tolist() == [[None], ["tea"]]


@pytest.mark.parametrize("model", ORDERLESS, ids=ids)
def test_row_order_does_not_matter(model, ratings):
    mixed = np.random.default_rng(0).permutation(len(ratings))
    a = clone(model).fit(ratings).complete()
    b = clone(model).fit(ratings[mixed]).complete()
    np.testing.assert_allclose(a, b, atol=1e-6)


@every
def test_save_load_and_seeds(model, ratings, tmp_path):
    model = clone(model).fit(ratings)
    persist.save(model, tmp_path / "m.pansophy")
    back = persist.load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(back.complete(), model.complete())
    for a, b in zip(back.recommend([1, 2], 3), model.recommend([1, 2], 3)):
        np.testing.assert_array_equal(a, b)
    again = clone(model).fit(ratings)
    np.testing.assert_array_equal(again.complete(), model.complete())


@every
def test_fold_in(model, ratings):
    model = clone(model).fit(ratings)
    items = ratings.item_names[:3]
    X = [["new", i] for i in items.tolist()] + [["new", 10**9]]  # one unknown item
    new = model.fold_in(X, [5.0, 1.0, 4.0, 2.0])
    assert new.users_.tolist() == ["new"] and model.users_.tolist() != ["new"]
    assert np.isfinite(new.complete()).all()
    top = new.recommend("new", 5)
    assert len(top.names) == 5 and not set(top.names) & set(items)
    nobody = model.fold_in(ratings[:0])
    assert np.isfinite(nobody.predict([[0, 1]])).all()


@every
def test_names_of_any_kind_and_frames(model, ratings):
    if isinstance(model, ContentRecommender):
        model = clone(model).set_params(items=[f"i{j:02d}" for j in range(40)])
    u = np.array([f"u{c:02d}" for c in ratings.users])
    i = np.array([f"i{c:02d}" for c in ratings.items])
    words = clone(model).fit(pd.DataFrame({"who": u, "what": i}), ratings.values)
    plain = clone(model)
    if isinstance(model, ContentRecommender):
        plain.set_params(items=None)
    plain.fit(ratings)
    np.testing.assert_allclose(words.complete(), plain.complete(), atol=1e-9)
    assert words.recommend("u03", 2).names.dtype.kind == "U"


@every
def test_similar(model, ratings):
    model = clone(model).fit(ratings)
    answered = 0
    for ask, names in ((model.similar_items, model.items_),
                       (model.similar_users, model.users_)):  # fmt: skip
        try:
            near = ask(names[3], 4)
        except ValueError as error:
            assert "has no similarities between" in str(error)
            continue
        answered += 1
        assert names[3] not in near.names and len(near.names) == 4
        assert (np.diff(near.scores) <= 0).all()
        assert (np.abs(near.scores) <= 1 + 1e-9).all()
        with pytest.raises(ValueError, match="is not among the"):
            ask(10**9)
    assert answered or type(model) in (BiasModel, HybridRecommender)


@every
def test_through_scikit_learn(model, ratings):
    scores = cross_val_score(clone(model), ratings.pairs(), ratings.values, cv=3)
    assert np.isfinite(scores).all()


@every
def test_clipping_and_bad_input(model, ratings):
    if "clip" in model.get_params():
        out = clone(model).set_params(clip=True).fit(ratings).predict(ratings)
        assert out.min() >= ratings.values.min() and out.max() <= ratings.values.max()
    model = clone(model)
    for call in (model.predict, model.recommend, model.complete, model.similar_items):
        with pytest.raises(Exception, match="not fitted"):
            call([[1, 1]])
    with pytest.raises(ValueError, match="at least one rating"):
        model.fit(ratings[:0])
    model.fit(ratings)
    before = model.complete()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(ratings.pairs(), np.full(len(ratings), np.nan))
    np.testing.assert_array_equal(model.complete(), before)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(np.ones((3, 4)))
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        model.recommend(0, 0)


WEIGHTED = [m for m in MODELS if "sample_weight" in inspect.signature(m.fit).parameters]


@pytest.mark.parametrize("model", WEIGHTED, ids=ids)
def test_weights_are_repetition_or_refused(model, ratings):
    X, y = ratings.pairs(), ratings.values
    w = np.random.default_rng(1).integers(0, 4, len(y))
    w[:2] = 2
    model = clone(model)
    if isinstance(model, HybridRecommender):
        with pytest.raises(ValueError, match="cannot use weights"):
            model.fit(X, y, sample_weight=w)
        model = HybridRecommender([BiasModel(), ALS(2, random_state=0)])
    a = clone(model).fit(X, y, sample_weight=w)
    b = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-8)
    plain = clone(model).fit(X[w > 0], y[w > 0])
    assert np.abs(a.predict(X) - plain.predict(X)).max() > 1e-6  # they do count


@pytest.mark.parametrize("model", [m for m in MODELS if m not in WEIGHTED], ids=ids)
def test_models_without_weights_refuse_them(model, ratings):
    model, X, y = clone(model), ratings.pairs(), ratings.values
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(len(y)))
    twice = Ratings.from_triplets([1, 1, 2], [1, 1, 2], [1.0, 3.0, 2.0])
    with pytest.raises(ValueError, match=f"{type(model).__name__} cannot use weights"):
        model.fit(twice)
    model.fit(twice.unweighted())
    with pytest.raises(ValueError, match="cannot use weights"):
        model.fold_in([[1, 1]], [2.0], sample_weight=[2.0])
    a = clone(model).fit(np.r_[X, X[:50]], np.r_[y, y[:50]])  # averaged, counted once
    assert a.ratings_.weights is None
    np.testing.assert_array_equal(a.predict(X), clone(model).fit(X, y).predict(X))


@every
@pytest.mark.parametrize("y", [[3.0] * 6, [0.0] * 6, [-1.0, -2, 3, -4, 5, -1]], ids=str)
def test_equal_zero_and_negative_ratings(model, y):
    X = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "z"], ["c", "y"], ["c", "z"]]
    if isinstance(model, ContentRecommender):
        model = ContentRecommender(np.eye(3), items=["x", "y", "z"])
    slow = isinstance(model, SGDFactorization)  # its random start fades by l h a step
    with warnings.catch_warnings():
        if slow:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(model).fit(X, y)
    full = model.complete()
    assert np.isfinite(full).all()
    if len(set(y)) == 1 and not getattr(model, "implicit", False):
        np.testing.assert_allclose(full, y[0], atol=0.05 if slow else 1e-3)
    assert model.recommend("a", 1000).names.tolist() == ["z"]


@every
def test_large_numbers_as_names_and_equal_scores(model):
    big = 2**62
    if isinstance(model, ContentRecommender):
        model = ContentRecommender(np.ones((3, 1)), items=[-big, 5, big])
    X = np.array([[big, -big], [big + 1, -big], [-big, 5], [-big, big]])
    model = clone(model).fit(X, [3.0, 3.0, 3.0, 3.0])
    assert model.users_.tolist() == [-big, big, big + 1]
    names = model.recommend(big, 5).names.tolist()
    random = isinstance(model, SGDFactorization)  # which has no ties
    assert (sorted(names) if random else names) == [5, big]  # ties: lower code first


@every
@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads_change_nothing(model, ratings, threads, monkeypatch):
    monkeypatch.setattr(als, "WORK_PER_TASK", 256)  # so that there are many pieces
    monkeypatch.setattr(sgd_factorization, "BLOCKED_FROM", 100)
    right = clone(model).fit(ratings).complete()
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    np.testing.assert_array_equal(clone(model).fit(ratings).complete(), right)


def interrupted_at(count, function):
    """The function, stopped by Ctrl-C at its count-th call."""
    calls = []

    def stopped(*args, **how):
        calls.append(1)
        if len(calls) == count:
            raise KeyboardInterrupt
        return function(*args, **how)

    return stopped


@pytest.mark.parametrize("count", [1, 4])
def test_an_interrupted_fit_is_a_model(ratings, monkeypatch, count):
    monkeypatch.setattr(als, "half_sweep", interrupted_at(count, als.half_sweep))
    with pytest.warns(InterruptedFitWarning):
        model = ALS(3, random_state=0).fit(ratings)
    assert model.interrupted_ and np.isfinite(model.complete()).all()
    monkeypatch.setattr(
        bias_model, "shrunken_means", interrupted_at(3, bias_model.shrunken_means)
    )
    with pytest.raises(KeyboardInterrupt):  # in the offsets: nothing is fitted yet
        ALS(3, random_state=0).fit(ratings)


def test_counts_and_weights_are_asked_for_clearly(ratings):
    model = ALS(2, random_state=0).fit(ratings)
    for call in (model.recommend, model.similar_items):
        message = r"n must be a whole number of at least 1, got 2\.5"
        with pytest.raises(TypeError, match=message):
            call(ratings.item_names[0], 2.5)
        with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
            call(ratings.item_names[0], 0)
    assert len(model.similar_items(ratings.item_names[0], 10**6).names) == 39
    w = np.random.default_rng(0).uniform(0.5, 2, len(ratings))
    heavy = replace(ratings, weights=w)
    right = r2_score(ratings.values, model.predict(ratings), sample_weight=w)
    assert model.score(heavy) == pytest.approx(right)
    with pytest.raises(ValueError, match="have weights"):
        model.fit(heavy, sample_weight=w)
    with pytest.raises(ValueError, match="hold the values and weights"):
        model.score(heavy, sample_weight=w)


def test_grid_search(ratings):
    grid = {"n_factors": [1, 2], "reg": [1.0, 10.0]}
    search = GridSearchCV(ALS(random_state=0), grid, cv=2)
    search.fit(ratings.pairs(), ratings.values)
    assert search.best_params_["n_factors"] in (1, 2)
