"""What every estimator that takes texts keeps: parameters, files, errors."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pansophy
from pansophy.testing import quick_instance, text_estimators
from tools.forge import ANSWERED, REFUSED, Trial, try_forgeries

ESTIMATORS = text_estimators()
each = pytest.mark.parametrize(
    "cls", [cls for _, cls in ESTIMATORS], ids=[name for name, _ in ESTIMATORS]
)
TEXTS = [
    "the cat sat on the mat", "the dog sat", "cats and dogs", "a mat for the dog",
    "naïve 日本 texts", "the cat saw the dog on the mat",
]  # fmt: skip
ANSWERS = ("transform", "scores", "encode", "log_probs", "correct")
STATELESS = {"HashingVectorizer"}
SMALL = {"BPE", "Unigram"}  # of a vocabulary that few texts fill


def made(cls):
    """An instance that fits a few texts."""
    small = cls.__name__ in SMALL
    return cls(vocab_size=270) if small else quick_instance(cls)


def answer(model):
    """What a model says about texts, as plain arrays."""
    method = next(getattr(model, name) for name in ANSWERS if hasattr(model, name))
    many = method.__name__ in ("transform", "log_probs")
    found = method(TEXTS) if many else [method(text) for text in TEXTS]
    if hasattr(found, "toarray"):
        return [found.toarray()]
    return [np.asarray(part) for part in found]


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b))


@each
def test_parameters_stay_as_they_are(cls):
    model = made(cls)
    before = {k: repr(v) for k, v in model.get_params().items()}
    assert model.fit(TEXTS) is model
    assert {k: repr(v) for k, v in model.get_params().items()} == before
    copy = clone(model)
    assert {k: repr(v) for k, v in copy.get_params().items()} == before
    assert cls.__name__ in repr(model)


@each
def test_fit_again_and_from_an_iterator(cls):
    model = made(cls).fit(["other texts about nothing"])
    whole = made(cls).fit(TEXTS)
    assert same(answer(model.fit(TEXTS)), answer(whole))
    assert same(answer(made(cls).fit(iter(TEXTS))), answer(whole))


@each
def test_save_and_load(cls, tmp_path):
    model = made(cls).fit(TEXTS)
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    assert same(answer(again), answer(model))


@each
def test_unfitted(cls):
    if cls.__name__ in STATELESS:
        assert len(answer(made(cls))) == 1
        return
    with pytest.raises(NotFittedError):
        answer(made(cls))


@each
def test_one_text_is_refused(cls):
    with pytest.raises(ValueError, match="text"):
        made(cls).fit("one text")


@each
def test_misspelt_parameter(cls):
    name = next(iter(inspect.signature(cls).parameters))
    with pytest.raises(TypeError, match=name):
        cls(**{name[:-1] + "q": 1})


def test_forged_files_are_refused_or_answer(tmp_path):
    trial = Trial()
    bad = []
    try:
        for name, cls in ESTIMATORS:
            pansophy.save(made(cls).fit(TEXTS), tmp_path / f"{name}.pansophy")
            np.save(tmp_path / f"{name}.npy", np.array(TEXTS))
            for forgery, outcome, why in try_forgeries(name, tmp_path, 25, 0, trial):
                if outcome not in (REFUSED, ANSWERED):
                    bad.append((name, forgery.name, outcome, why))
    finally:
        trial.end()
    assert not bad, bad
