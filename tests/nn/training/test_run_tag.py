"""The fingerprint of a run: data and parameters count, what may change does not."""

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from pansophy.nn.training.run_tag import run_tag

X = np.arange(6.0).reshape(2, 3)


def test_data_and_parameters_count():
    model = SGDClassifier(alpha=0.1, random_state=0)
    tag = run_tag(model, X.shape, [X, None])
    assert tag == run_tag(SGDClassifier(alpha=0.1, random_state=0), X.shape, [X])
    assert tag.startswith("SGDClassifier (2, 3) ")
    changed = X.copy()
    changed[0, 0] = 1e-9
    for other, rows in (
        (model, changed),
        (SGDClassifier(alpha=0.2, random_state=0), X),
        (SGDClassifier(alpha=0.1, random_state=1), X),
    ):
        assert run_tag(other, X.shape, [rows]) != tag


def test_a_longer_or_louder_run_is_the_same_run():
    tag = lambda **options: run_tag(SGDClassifier(**options), X.shape, [X])
    assert tag(max_iter=5, verbose=0) == tag(max_iter=50, verbose=3)
    a, b = np.random.default_rng(0), np.random.default_rng(1)
    assert tag(random_state=a) == tag(random_state=b)  # no name that lasts


def test_values_in_other_columns_are_other_rows():
    one = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    two = sp.csr_array(np.array([[0.0, 1.0], [0.0, 2.0]]))
    model = SGDClassifier()
    assert run_tag(model, (2, 2), [one]) != run_tag(model, (2, 2), [two])
    assert run_tag(model, (2, 2), [one]) == run_tag(model, (2, 2), [one.tocoo()])
