"""Features of texts are those of scikit-learn."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from pansophy.datasets import make_messy
from pansophy.tables import Column, MixedFrame, Preparation


@pytest.fixture(scope="module")
def messy():
    return make_messy(400, 5)


def test_texts_are_those_of_scikit_learn(messy):
    texts = messy.column("review").combine_chunks()
    told = (Column("t", "text", ""),)
    frame = MixedFrame(np.empty((400, 0)), (texts,))
    prepare = Preparation(told).fit(frame)
    got = prepare.transform(frame)
    said = [t or "" for t in texts.to_pylist()]
    T = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(said)
    want = TruncatedSVD(20, random_state=0, n_iter=7).fit(T).transform(T)
    np.testing.assert_allclose(got, want, atol=1e-10)
    assert prepare.get_feature_names_out()[0] == "t topic 1"
    scaled = Preparation(told, scale=True).fit_transform(frame, None)
    assert np.isclose(scaled.std(axis=0).max(), 1)
    same = MixedFrame(
        np.empty((9, 0)), (pa.array(["one two", "two one", "one two six"] * 3),)
    )
    A = Preparation(told).fit(same).transform(same)
    assert A.shape == (9, 3) and np.linalg.matrix_rank(A) == 2  # every word counts
    nothing = MixedFrame(np.empty((3, 0)), (pa.array([None, "", "!"]),))
    assert Preparation(told).fit(nothing).transform(nothing).shape == (3, 0)
    new = MixedFrame(np.empty((2, 0)), (pa.array([None, "unheard of"]),))
    assert not prepare.transform(new)[0].any()
