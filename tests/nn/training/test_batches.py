"""Batches of rows."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy.nn.training.batches import Batches  # noqa: E402
from tests.nn.linear_net import LinearNet, train  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def test_passes_take_every_row_once(rng):
    data = {"x": np.arange(23)}
    batches = Batches(data, 5, rng)
    seen = [b["x"] for b, _ in batches.one_pass()]
    assert [len(s) for s in seen] == [5, 5, 5, 5, 3]
    assert sorted(torch.cat(seen).tolist()) == list(range(23))
    inner = Batches(data, 5)
    inner.source.chunk = 7  # gathered in pieces
    assert torch.cat([b["x"] for b, _ in inner.one_pass()]).tolist() == list(range(23))


def test_rows_must_match():
    with pytest.raises(ValueError, match="equally many rows"):
        train(LinearNet(), (np.zeros((3, 3)), np.zeros((2, 1))))
    with pytest.raises(ValueError, match="at least one row"):
        train(LinearNet(), (np.zeros((0, 3)), np.zeros((0, 1))))


def test_the_generator_stands_where_the_batches_taken_have_left_it():
    """Not where the thread has read to: what is drawn next must not depend on time."""
    states = {}
    for prefetch in (0, 4):
        rng = np.random.default_rng(0)
        batches = Batches((np.arange(10.0),), 2, rng, "cpu", prefetch=prefetch)
        stream = batches.stream()
        for _ in range(7):
            next(stream)
        stream.close()
        states[prefetch] = rng.bit_generator.state
    assert states[0] == states[4]
