"""NumPy and SciPy values in files: strings, order, sparse, masks, random streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from scipy import sparse

from pansophy import persist
from pansophy.persist import codec
from tests.persist.model_files import decoded, same


def test_long_string_arrays_are_tensors():
    value = np.array([f"row {i} \N{SNOWMAN}" for i in range(2000)]).reshape(1000, 2)
    encoder = codec.Encoder()
    node = encoder.encode(value)
    assert "v" not in node
    assert same(value, codec.Decoder(encoder.tensors).decode(node))


def test_memory_order_survives():
    value = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    back = decoded(value)
    assert back.flags.f_contiguous and np.array_equal(back, value)
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3]
    assert np.array_equal(decoded(strided), strided)
    assert decoded(value).flags.writeable


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_sparse_survives(kind, family):
    dense = np.array([[0.0, 1, 0], [2, 0, 0]])
    value = getattr(sparse, f"{kind}_{family}")(dense)
    back = decoded(value)
    assert type(back) is type(value)
    assert np.array_equal(back.toarray(), dense)


def test_masked_arrays_survive():
    value = np.ma.MaskedArray([1.0, 2.0], mask=[True, False], fill_value=9.0)
    back = decoded(value)
    assert back.mask.tolist() == [True, False] and back.fill_value == 9.0


@pytest.mark.parametrize("stream", ["MT19937", "PCG64", "Philox", "SFC64"])
def test_random_streams_go_on_where_they_were(stream):
    bits = getattr(np.random, stream)
    a, b = np.random.Generator(bits(3)), np.random.RandomState(bits(4))
    a.normal(size=7), b.normal(size=7)
    c, d = decoded([a, b])
    assert np.array_equal(a.normal(size=5), c.normal(size=5))
    assert np.array_equal(b.normal(size=5), d.normal(size=5))


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_side=0, max_dims=4)))
def test_any_array_survives(value):
    back = decoded(value)
    assert back.shape == value.shape
    if value.dtype.kind != "U":  # strings come back at their natural width
        assert back.dtype == value.dtype and back.tobytes() == value.tobytes()
    else:
        assert np.array_equal(back, value)


def test_few_long_strings_among_short_ones_survive(tmp_path):
    value = np.array(["a" * 50_000, *["b"] * 50])
    persist.save(value, tmp_path / "s")
    back = persist.load(tmp_path / "s")
    assert np.array_equal(back, value) and back.dtype == value.dtype
