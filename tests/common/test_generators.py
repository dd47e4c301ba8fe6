"""Every generative model on a net keeps the contract of `AbstractGenerator`.

Small settings come from `testing.quick_instance`; a model that needs labels says so by
`_needs_labels`.
"""

import warnings

import numpy as np
import pytest
from sklearn.utils import get_tags

pytest.importorskip("torch")

from pansophy import load, save
from pansophy.base import InterruptedFitWarning
from pansophy.generative import PosteriorCollapseWarning
from pansophy.testing import all_generators, quick_instance

GENERATORS = [pytest.param(cls, id=name) for name, cls in all_generators()]
every_generator = pytest.mark.parametrize("cls", GENERATORS)


def quick(cls, **params):
    """A model of small size that trains for few epochs."""
    params = {"n_epochs": 2, "random_state": 0, "device": "cpu", **params}
    return quick_instance(cls).set_params(**params)


def labels_for(model, n):
    """Labels if the model must have them."""
    return np.arange(n) % 3 if getattr(model, "_needs_labels", False) else None


def small_rows(n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * [1.0, 10.0, 0.1, 2.0][:d] + [5.0, 0, -1, 2][:d]


def fitted(cls, X, **params):
    model = quick(cls, **params)
    return model.fit(X, labels_for(model, len(X)))


def scores_of(model, X):
    if not hasattr(model, "score_samples"):
        return np.zeros(len(X))
    return model.score_samples(X)


@every_generator
@pytest.mark.parametrize("d", [1, 4])
def test_thirty_rows(cls, d):
    X = small_rows(d=d)
    model = fitted(cls, X)
    made = model.sample(7, random_state=1)
    assert made.shape == (7, d) and made.dtype == X.dtype
    assert np.isfinite(made).all()
    assert np.isfinite(scores_of(model, X)).all()
    assert np.all(np.isfinite(model.history_["loss"]))
    assert len(model.history_["loss"]) == model.n_iter_ == 2


@every_generator
def test_constant_columns(cls):
    X = small_rows()
    X[:, 1] = 3.0
    X[:, 2] = 0.0
    model = fitted(cls, X)
    assert np.isfinite(model.sample(5, random_state=0)).all()
    assert np.isfinite(scores_of(model, X)).all()


@every_generator
def test_frames_of_single_precision(cls):
    """Samples have the precision of the rows; columns are known by name."""
    pandas = pytest.importorskip("pandas")
    X = small_rows().astype(np.float32)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = fitted(cls, frame)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert np.asarray(model.sample(3, random_state=0)).dtype == np.float32
    assert np.isfinite(scores_of(model, frame)).all()
    if hasattr(model, "score_samples"):
        with pytest.raises(ValueError, match="feature names"):
            model.score_samples(frame.rename(columns={"a": "z"}))


@every_generator
def test_missing_values_are_refused_or_modelled(cls):
    X = small_rows()
    X[3, 1] = np.nan
    model = quick(cls)
    if get_tags(model).input_tags.allow_nan:  # they are modelled, and come back
        made = model.fit(X, labels_for(model, len(X))).sample(2000, random_state=0)
        assert np.isnan(made[:, 1]).any() and not np.isnan(made[:, 0]).any()
        return
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, labels_for(model, len(X)))


@every_generator
@pytest.mark.parametrize("labels", [False, True])
def test_rows_far_out_have_scores(cls, labels):
    """Where squares overflow a log density is minus infinity, and never NaN."""
    X = small_rows()
    far = np.array([[1e300, 0, 0, 0], [1e200, -1e200, 1e160, 0], [1e9] * 4])
    model = quick(cls)
    if not (labels and model._conditional):
        model.fit(X, labels_for(model, len(X)))
    else:
        model.fit(X, np.arange(len(X)) % 2)
    if hasattr(model, "score_samples"):
        assert not np.isnan(model.score_samples(far)).any()
        single = far.clip(-1e30, 1e30).astype(np.float32)
        assert not np.isnan(model.score_samples(single)).any()
    if hasattr(model, "log_prob_bound"):
        bound = model.log_prob_bound(far)
        assert not np.isnan(getattr(bound, "value", bound)).any()
        assert not np.isnan(getattr(bound, "standard_error", 0.0)).any()


@every_generator
@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None, True])
def test_numbers_of_samples_are_checked(cls, n):
    model = fitted(cls, small_rows())
    with pytest.raises(ValueError, match="n_samples must be a whole number of at leas"):
        model.sample(n)


@every_generator
def test_samples_and_scores_of_many_blocks(cls, monkeypatch):
    """More rows than go through a net at once."""
    X = small_rows(70)
    model = fitted(cls, X)
    scores = scores_of(model, X)
    monkeypatch.setattr("pansophy.generative.abstract_generator.BLOCK_VALUES", 64)
    assert model.sample(50, random_state=0).shape == (50, 4)
    np.testing.assert_allclose(scores_of(model, X), scores, rtol=1e-5, atol=1e-6)


@every_generator
def test_labels_of_one_class(cls):
    X = small_rows()
    model = quick(cls).fit(X, np.full(len(X), "a"))
    assert np.isfinite(model.sample(3, random_state=0)).all()
    if model._conditional:
        assert model.sample(2, y="a", random_state=0).shape == (2, 4)


@every_generator
def test_samples_repeat_by_seed(cls):
    X = small_rows()
    model = fitted(cls, X)
    again = fitted(cls, X)
    first = model.sample(5, random_state=3)
    np.testing.assert_array_equal(first, model.sample(5, random_state=3))
    np.testing.assert_array_equal(first, again.sample(5, random_state=3))
    assert not np.array_equal(first, model.sample(5, random_state=4))


@every_generator
def test_saved_model_says_the_same(cls, tmp_path):
    X = small_rows()
    model = fitted(cls, X)
    save(model, tmp_path / "model.pansophy")
    loaded = load(tmp_path / "model.pansophy")
    np.testing.assert_array_equal(
        model.sample(5, random_state=3), loaded.sample(5, random_state=3)
    )
    np.testing.assert_array_equal(scores_of(model, X), scores_of(loaded, X))


@every_generator
@pytest.mark.parametrize("shape", [(4, 5), (3, 3, 2)], ids=["grey", "colour"])
def test_image_stacks(cls, shape):
    """Samples have the shape of the images; scores, codes and bounds exist."""
    X = np.random.default_rng(0).integers(0, 256, (30, *shape)).astype(np.uint8)
    if cls.__name__ == "TableVAE":
        with pytest.raises(ValueError, match="dim"):
            quick(cls).fit(X)
        return
    model = fitted(cls, X)
    assert model.sample(3, random_state=0).shape == (3, *shape)
    assert np.isfinite(scores_of(model, X)).all()
    if hasattr(model, "reconstruct"):
        y = labels_for(model, len(X))
        assert model.reconstruct(X, y).shape == X.shape
    if hasattr(model, "log_prob_bound"):
        bound = model.log_prob_bound(X[:3])
        assert np.isfinite(getattr(bound, "value", bound)).all()


@every_generator
def test_sample_quality_while_training(cls):
    """MMD and the accuracy of a classifier, every second epoch."""
    X = small_rows(24)
    model = fitted(cls, X, quality_every=2, n_epochs=2)
    for name in ("mmd", "c2st"):
        first, second = model.history_[name]
        assert np.isnan(first) and np.isfinite(second)


@every_generator
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(cls, n):
    X = small_rows(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PosteriorCollapseWarning)
        model = fitted(cls, X, batch_size=1)
    assert np.isfinite(model.sample(3, random_state=0)).all()
    assert np.isfinite(scores_of(model, X)).all()


@every_generator
def test_interrupted_training_leaves_a_model(cls, monkeypatch):
    X = small_rows()
    model = quick(cls, n_epochs=50)
    build, calls = model._build_net, []

    def interrupting(*sizes):
        net = build(*sizes)
        losses = net.losses

        def count(batch):
            calls.append(1)
            if len(calls) > 2:
                raise KeyboardInterrupt
            return losses(batch)

        net.losses = count
        return net

    monkeypatch.setattr(model, "_build_net", interrupting)
    # the copy of the net that is kept must not hold the counting function
    monkeypatch.setattr(
        "pansophy.generative.abstract_generator.detached_net", _detached_without_count
    )
    with pytest.warns(InterruptedFitWarning):
        model.fit(X, labels_for(model, len(X)))
    assert model.interrupted_
    assert np.isfinite(model.sample(4, random_state=0)).all()
    assert np.isfinite(scores_of(model, X)).all()


def _detached_without_count(net):
    from pansophy.nn.training.abstract_training import detached_net

    net.__dict__.pop("losses", None)
    return detached_net(net)


@every_generator
def test_rows_of_weight_zero_are_left_out(cls):
    X = small_rows()
    kept = np.arange(len(X)) % 3 > 0
    odd = np.where(kept[:, None], X, 1e3)
    model = quick(cls)
    y = labels_for(model, len(X))
    model.fit(odd, y, sample_weight=kept.astype(float))
    other = quick(cls).fit(X[kept], None if y is None else y[kept], np.ones(kept.sum()))
    np.testing.assert_allclose(
        model.sample(5, random_state=0), other.sample(5, random_state=0)
    )


@every_generator
def test_samples_have_the_units_of_the_rows(cls):
    """Standardisation is undone: rows in other units give samples in these units."""
    X = small_rows()
    factor, shift = 1000.0, -50.0
    a, b = fitted(cls, X), fitted(cls, X * factor + shift)
    if not np.array_equal(a.mean_, b.mean_):  # the model standardises
        np.testing.assert_allclose(
            a.sample(5, random_state=0) * factor + shift,
            b.sample(5, random_state=0),
            rtol=1e-3,
            atol=1e-3 * factor,
        )


@every_generator
def test_early_stopping_holds_rows_out(cls):
    X = small_rows(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tiny net may overfit: not asked here
        model = fitted(cls, X, early_stopping=True, validation_fraction=0.3)
    assert len(model.history_["valid_loss"]) == model.n_iter_
