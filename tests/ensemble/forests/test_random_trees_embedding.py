"""Random trees embedding."""

import numpy as np
import pandas as pd
import pytest

from pansophy import ensemble


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, (X[:, 0] > 0).astype(int)


def test_embedding_of_a_frame(data):
    frame = pd.DataFrame(data[0], columns=list("abcd"))
    model = ensemble.RandomTreesEmbedding(3, random_state=0)
    code = model.fit_transform(frame)
    assert (code != model.transform(frame)).nnz == 0
