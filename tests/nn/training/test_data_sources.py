"""Rows outside memory: what is read, in which order, and continued from anywhere."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.batches import Batches  # noqa: E402

torch.set_num_threads(1)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(2))

    def losses(self, batch):
        return {"loss": (batch[0] @ self.w - batch[-1]).square().mean()}


@pytest.fixture
def folder(tmp_path, rng):
    for i, n in enumerate((37, 24)):
        X = rng.normal(size=(n, 2)).astype(np.float32)
        y = (X[:, 0] - X[:, 1]).astype(np.float32)
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=5)
    return tmp_path


def ys(batches):
    return [y.tolist() for _, y in batches]


def test_a_pass_holds_every_row_once(folder):
    rows = nn.ParquetRows(folder, target="y", buffer_groups=3)
    whole = pq.read_table(folder)
    assert len(rows) == 61 and rows.columns == ["a", "b"]
    plain = list(rows.read_pass(None, 10))
    assert [len(y) for _, y in plain] == [10] * 6 + [1]
    assert np.concatenate(ys(plain)) == pytest.approx(whole["y"].to_numpy())
    shuffled = list(rows.read_pass(np.random.default_rng(0), 10))
    assert sorted(np.concatenate(ys(shuffled))) == sorted(whole["y"].to_numpy())
    assert ys(shuffled) != ys(plain)
    for X, y in shuffled:
        assert X[:, 0] - X[:, 1] == pytest.approx(y)
        assert X.dtype == np.float32 and X.flags["C_CONTIGUOUS"]
    with pytest.raises(ValueError, match="no column is called 'z'"):
        nn.ParquetRows(folder, target="z")
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        nn.ParquetRows(folder / "none")


@pytest.mark.parametrize("skip", [0, 1, 2, 5, 6])
def test_a_pass_is_continued_without_reading_what_is_before(folder, skip, monkeypatch):
    rows = nn.ParquetRows(folder, target="y", buffer_groups=3)
    whole = ys(rows.read_pass(np.random.default_rng(1), 10))
    read = []
    groups = rows.read_groups
    monkeypatch.setattr(rows, "read_groups", lambda m: read.append(len(m)) or groups(m))
    rest = ys(rows.read_pass(np.random.default_rng(1), 10, skip))
    assert rest == whole[skip:]
    if skip == 6:
        assert len(read) == 1


@pytest.mark.parametrize("kind", ["parquet", "files", "sequences"])
def test_prefetched_runs_resume_exactly(kind, folder, tmp_path, rng):
    if kind == "parquet":
        source = nn.ParquetRows(folder, target="y", buffer_groups=2)
    elif kind == "files":
        X = rng.normal(size=(23, 2)).astype(np.float32)
        paths = [tmp_path / f"{i}.npy" for i in range(23)]
        for path, x in zip(paths, X):
            np.save(path, x)
        read = lambda paths: np.stack([np.load(p) for p in paths])
        source = nn.FileRows(paths, read, X.sum(1))
    else:
        series = [rng.normal(size=(k, 2)).astype(np.float32) for k in (3, 1, 4, 2) * 6]
        sums = np.array([s.sum() for s in series], np.float32)
        source = nn.RaggedRows(series, sums)
    make = Linear if kind != "sequences" else Summed
    options = {"batch_size": 7, "steps_per_epoch": 2, "device": "cpu", "seed": 0}
    whole = nn.train(make(), source, epochs=7, **options)
    file = tmp_path / "run"
    nn.train(make(), source, epochs=3, checkpoint=file, **options)
    rest = nn.train(make(), source, epochs=7, checkpoint=file, resume=True, **options)
    assert torch.equal(whole.state.net.w, rest.state.net.w)
    assert np.array_equal(whole.history["loss"], rest.history["loss"])


def test_numbers_of_parquet_files_train_a_regression_net(tmp_path, rng):
    """Targets of double precision, as most files have them."""
    X = rng.normal(size=(200, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] - X[:, 1]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=50)
    coefs, intercepts = nn.glorot_uniform([2, 1], rng)
    net = nn.MLP([coefs[0].astype("f4")], [intercepts[0].astype("f4")], head="identity")
    rows = nn.ParquetRows(tmp_path / "rows.parquet", target="y")
    options = {"epochs": 40, "batch_size": 20, "optimiser": nn.Adam(0.05)}
    history = nn.train(net, rows, device="cpu", seed=0, **options).history
    assert history["loss"][-1] < 1e-3


class Summed(Linear):
    def losses(self, batch):
        X, lengths, y = batch
        outside = torch.arange(X.shape[1]) >= lengths[:, None]
        assert X.shape[1] == lengths.max() and not X[outside].any()
        return {"loss": (X.sum(1) @ self.w - y).square().mean()}


def test_a_thread_reads_ahead_and_the_order_stays(folder):
    rows = nn.ParquetRows(folder, target="y")
    take = lambda prefetch: [
        y.tolist()
        for (_, y), _ in zip_first(
            Batches(rows, 8, np.random.default_rng(0), prefetch=prefetch).stream(), 20
        )
    ]
    assert take(3) == take(0)


def zip_first(stream, n):
    found = [next(stream) for _ in range(n)]
    stream.close()
    return found


def test_images_of_a_folder_are_read_when_they_are_taken(tmp_path, rng):
    Image = pytest.importorskip("PIL.Image")
    pixels = rng.integers(0, 256, (5, 6, 4), dtype=np.uint8)
    paths = [tmp_path / f"{i}.png" for i in range(5)]
    for path, image in zip(paths, pixels):
        Image.fromarray(image).save(path)

    def read(paths):
        return np.stack([np.asarray(Image.open(p)) for p in paths])

    rows = nn.FileRows(paths, read, np.arange(5))
    X, y = rows.take(np.array([3, 1]))
    assert np.array_equal(X, pixels[[3, 1]]) and y.tolist() == [3, 1]


def test_files_must_match_their_labels():
    with pytest.raises(ValueError, match="2 paths, but 3 aligned"):
        nn.FileRows(["a", "b"], None, [1, 2, 3])


def test_windows_of_a_ring_predict_every_token(tmp_path):
    tokens = np.arange(23)
    windows = nn.TokenWindows(tokens, 5)
    assert len(windows) == 5
    rng = np.random.default_rng(0)
    for generator in (None, rng, rng):
        batches = [batch[0] for batch in windows.read_pass(generator, 2)]
        rows = np.concatenate(batches)
        assert rows.shape == (5, 6) and rows.dtype == np.int64
        assert ((rows[:, 1:] - rows[:, :-1]) % 23 == 1).all()
        assert {*rows[:, 1:].ravel()} == {*range(23)}
    path = tmp_path / "tokens"
    tokens.astype(np.uint16).tofile(path)
    mapped = nn.TokenWindows(np.memmap(path, np.uint16, mode="r"), 5)
    assert mapped.prefetch and not windows.prefetch
    for one, two in zip(mapped.read_pass(None, 3), windows.read_pass(None, 3)):
        assert np.array_equal(one[0], two[0])


def test_windows_go_on_from_a_batch():
    windows = nn.TokenWindows(np.arange(40), 4)
    whole = [b[0].tolist() for b in windows.read_pass(np.random.default_rng(1), 3)]
    rest = [b[0].tolist() for b in windows.read_pass(np.random.default_rng(1), 3, 2)]
    assert rest == whole[2:]
    short = nn.TokenWindows(np.arange(3), 8)  # no longer than the stream
    assert [b[0].tolist() for b in short.read_pass(None, 4)] == [[[0, 1, 2, 0]]]
    with pytest.raises(ValueError, match="at least 2 tokens"):
        nn.TokenWindows(np.arange(1), 4)
