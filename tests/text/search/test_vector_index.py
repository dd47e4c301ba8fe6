"""Vectors on disk: those of SubwordLSA, and the exact neighbours."""

import numpy as np
import pytest

from pansophy.text import SubwordLSA, VectorIndex
from pansophy.text.search import vector_index


@pytest.fixture
def texts(rng):
    words = ["aardvark", "bee", "bees", "cicada", "dd", "é日", "beetle", "card"]
    return [" ".join(rng.choice(words, 6)) for _ in range(60)]


def test_vectors_are_those_of_the_model(tmp_path, texts):
    index = VectorIndex.create(tmp_path / "v", texts, 5)
    index.append(texts[:10])
    index.append(texts[10:])
    model = SubwordLSA(5, random_state=0).fit(texts)
    Z = model.transform(texts)
    np.testing.assert_allclose(index.vectors, Z, atol=1e-3)  # half precision
    np.testing.assert_allclose(index.leading, Z, atol=1e-6)
    for query in ("bee bee cards unknown", "é日", "zz", ""):
        np.testing.assert_allclose(
            index.vector(query), model.transform([query])[0], atol=1e-6
        )
    assert index.nearest(index.vector("zz"), 3).documents.tolist() == []
    assert VectorIndex(tmp_path / "v").n_leading == 5


def test_nearest_are_the_exact_ones(tmp_path, texts, monkeypatch):
    monkeypatch.setattr(vector_index, "LEADING", 2)
    monkeypatch.setattr(vector_index, "CANDIDATES", 40)
    monkeypatch.setattr(vector_index, "ROWS", 7)
    index = VectorIndex.create(tmp_path / "v", texts, 5)
    index.append(texts)
    live = np.ones(60, bool)
    live[::3] = False
    Z = index.vectors.astype(np.float32)
    for query in ("bee", "cards", "aardvarks beetle"):
        z = index.vector(query)
        found = index.nearest(z, 5, live)
        exact = np.where(live, Z @ z, -np.inf)
        np.testing.assert_allclose(found.cosines, exact[found.documents], atol=1e-6)
        assert np.intersect1d(found.documents, np.argsort(-exact)[:5]).size >= 3
        assert live[found.documents].all()
        np.testing.assert_allclose(index.cosines(z, range(60)), Z @ z, atol=1e-6)
    # documents that have no vector yet
    assert index.cosines(z, [60, 1000]).tolist() == [0, 0]


def test_half_a_row_is_written_again(tmp_path, texts):
    index = VectorIndex.create(tmp_path / "v", texts, 5)
    index.append(texts[:10])
    for name in ("vectors.bin", "leading.bin"):
        with open(tmp_path / "v" / name, "ab") as file:
            file.write(b"\x01" * 7)
    with open(tmp_path / "v" / "vectors.bin", "ab") as file:
        file.write(b"\x01" * 30)  # rows of one file only
    again = VectorIndex(tmp_path / "v")
    assert len(again) == 10
    again.append(texts[10:])
    whole = VectorIndex.create(tmp_path / "w", texts, 5)
    whole.append(texts)
    np.testing.assert_array_equal(VectorIndex(tmp_path / "v").vectors, whole.vectors)
    np.testing.assert_array_equal(VectorIndex(tmp_path / "v").leading, whole.leading)


def test_largest_values(rng):
    few = np.array([3.0, -np.inf, 1.0, 2.0], np.float32)
    assert vector_index.largest_values(few, 10).tolist() == [0, 2, 3]
    assert vector_index.largest_values(few, 2).tolist() == [0, 3]
    many = rng.normal(size=20_000).astype(np.float32)
    found = vector_index.largest_values(many, 200)
    assert found.tolist() == sorted(np.argsort(-many)[:200])
    many[300:] = -np.inf
    found = vector_index.largest_values(many, 200)
    assert found.tolist() == sorted(np.argsort(-many)[:200])
    assert vector_index.largest_values(many, 400).tolist() == list(range(300))


@pytest.mark.parametrize("forged", [-1e12, 0.0, np.nan, np.inf])
def test_a_forged_size_of_word_parts_is_refused(tmp_path, texts, forged):
    """Lists of as many parts as a file says would fill the memory."""
    index = VectorIndex.create(tmp_path / "v", texts, 5)
    weights = np.fromfile(index.folder / "weights.bin")
    weights[0] = forged
    weights.tofile(index.folder / "weights.bin")
    with pytest.raises(ValueError, match="is damaged; make the index anew"):
        VectorIndex(index.folder)
