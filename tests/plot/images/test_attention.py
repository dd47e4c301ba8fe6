"""Attention maps."""

import numpy as np
import pytest

from pansophy import plot


def test_a_panel_for_each_head():
    A = np.tril(np.ones((3, 4, 4)))
    axes = plot.attention(A, list("abcd"))
    assert len(axes) == 3
    assert np.array_equal(axes[1].images[0].get_array(), A[1])
    ticks = [t.get_text() for t in axes[0].get_xticklabels()]
    assert ticks == list("abcd")


def test_one_head_and_a_mask():
    (ax,) = plot.attention(np.zeros((2, 5)), queries=["x", "y"])
    assert ax.get_title() == "" and ax.images[0].get_array().shape == (2, 5)


def test_tensors_and_many_steps():
    torch = pytest.importorskip("torch")
    from pansophy import nn

    layer = nn.MultiHeadAttention(4, 2)
    A = layer.attention_weights(torch.randn(1, 40, 4), causal=True)[0].detach()
    axes = plot.attention(A, [f"t{i}" for i in range(40)])
    assert len(axes[0].get_xticks()) <= 30
    upper = np.triu(axes[0].images[0].get_array(), 1)
    assert (upper == 0).all()


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match="take one sequence"):
        plot.attention(np.zeros((1, 2, 3, 3)))
    with pytest.raises(ValueError, match="3 names of steps are needed, got 2"):
        plot.attention(np.zeros((3, 3)), ["a", "b"])
