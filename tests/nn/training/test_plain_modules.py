"""`nn.train` of plain torch modules: losses, loaders, optimisers, callbacks."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from pansophy import losses, nn
from pansophy.nn.training.supervised_losses import cast_target, find_loss


def rows(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X @ [1.0, -2.0, 0.5] > 0).astype(int)


def net(outputs=2):
    torch.manual_seed(0)
    return torch.nn.Linear(3, outputs)


OPTIONS = {"loss": "cross_entropy", "device": "cpu", "seed": 0, "epochs": 5}


class Items(Dataset):
    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class Stream(IterableDataset):
    def __iter__(self):
        X, y = rows()
        return zip(torch.as_tensor(X), torch.as_tensor(y))


def as_dicts(X, y):
    return {"input": torch.as_tensor(X), "labels": torch.as_tensor(y)}


KINDS = {
    "arrays": lambda X, y: (X, y),
    "tensors of other dtypes": lambda X, y: (torch.tensor(X).half(), y.astype("int8")),
    "TensorDataset": lambda X, y: TensorDataset(torch.tensor(X), torch.tensor(y)),
    "Dataset": Items,
    "DataLoader": lambda X, y: DataLoader(Items(X, y), batch_size=32, shuffle=True),
    "list of batches": lambda X, y: [(X[:60], y[:60]), (X[60:], y[60:])],
    "dict": as_dicts,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_kind(kind):
    X, y = rows()
    module, data = net(), KINDS[kind](X, y)
    result = nn.train(module, data, lr=0.1, batch_size=32, **OPTIONS)
    assert result.state.net is module
    assert result.history["loss"][-1] < 0.5 * np.log(2) + 0.15
    assert result.history["loss"][-1] < result.history["loss"][0]


def test_iterables_without_a_length():
    loader = DataLoader(Stream(), batch_size=40)
    with pytest.raises(ValueError, match="give steps_per_epoch"):
        nn.train(net(), loader, **OPTIONS)
    result = nn.train(net(), loader, steps_per_epoch=3, lr=0.1, **OPTIONS)
    assert result.state.seen == 5 * 120
    X, y = rows()
    once = iter([(X, y), (X, y)])
    with pytest.raises(ValueError, match="gives none when it is begun again"):
        nn.train(net(), once, steps_per_epoch=2, **OPTIONS)


@pytest.mark.parametrize("workers", [False, True])
def test_a_loader_is_the_same_as_its_tensors(workers):
    """Batches in order, the same optimiser: the same weights to the last bit."""
    X, y = rows()
    X = torch.tensor(X).float()
    plain, loaded = net(), net()
    nn.train(plain, (X, y), batch_size=50, shuffle=False, **OPTIONS)
    dataset = TensorDataset(X, torch.tensor(y))
    nn.train(loaded, DataLoader(dataset, batch_size=50), **OPTIONS)
    assert torch.equal(plain.weight, loaded.weight)


def test_a_torch_optimiser_moves_as_it_does_in_a_loop_of_ones_own():
    X, y = (torch.as_tensor(a) for a in rows())
    X = X.float()
    mine, trained = net(), net()
    make = lambda m: torch.optim.Adam(m.parameters(), lr=0.05)
    optimiser = make(mine)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.5)
    for _ in range(4):
        for start in range(0, 120, 40):
            optimiser.zero_grad()
            part = slice(start, start + 40)
            torch.nn.functional.cross_entropy(mine(X[part]), y[part]).backward()
            optimiser.step()
        scheduler.step()
    optimiser = make(trained)
    nn.train(
        trained,
        (X, y),
        loss=torch.nn.CrossEntropyLoss(),
        optimiser=optimiser,
        schedule=torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.5),
        epochs=4,
        batch_size=40,
        shuffle=False,
        device="cpu",
    )
    torch.testing.assert_close(mine.weight, trained.weight)


def test_schedulers_of_each_step_and_of_a_plateau():
    X, y = rows()
    module = net()
    optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.1, total_steps=20)
    nn.train(
        module, (X, y), optimiser=optimiser, schedule=cycle, batch_size=30, **OPTIONS
    )
    assert cycle.last_epoch == 20
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-6)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, patience=0)
    nn.train(module, (X, y), optimiser=optimiser, schedule=plateau, **OPTIONS)
    assert optimiser.param_groups[0]["lr"] < 1e-6
    with pytest.raises(ValueError, match="belongs to an optimiser of torch"):
        nn.train(net(), (X, y), schedule=cycle, **OPTIONS)
    with pytest.raises(ValueError, match="made for parameters that are not the net's"):
        nn.train(net(), (X, y), optimiser=optimiser, **OPTIONS)


def test_drop_last_metrics_callbacks_and_lines(capsys):
    X, y = rows(65)
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), net())
    told = []

    def stop_at_three(epoch_end):
        told.append(epoch_end.values["accuracy"])
        return epoch_end.epoch == 3

    result = nn.train(
        module,
        (X, y),
        batch_size=16,
        drop_last=True,
        valid=(X, y),
        metrics={"accuracy": lambda F, Y: (F.argmax(1) == Y).float().mean()},
        callbacks=[stop_at_three],
        verbose=True,
        **(OPTIONS | {"epochs": 9}),
    )
    assert result.reason == "callback"
    assert result.state.seen == 3 * 64
    assert told == result.history["accuracy"].tolist()
    with torch.no_grad():
        hits = module(torch.tensor(X).float()).argmax(1).numpy() == y
    assert result.history["valid_accuracy"][-1] == pytest.approx(hits.mean())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("epoch 1/9  loss ")


def test_a_run_is_resumed(tmp_path):
    X, y = rows()
    whole, parts = net(), net()
    shared = {"batch_size": 32, "schedule": "cosine", **OPTIONS}
    nn.train(whole, (X, y), **shared)
    path = tmp_path / "run"
    stop = lambda told: told.epoch == 2
    nn.train(parts, (X, y), checkpoint=path, callbacks=[stop], **shared)
    fresh = net(2)
    result = nn.train(fresh, (X, y), checkpoint=path, resume=True, **shared)
    assert result.n_iter == 5
    assert torch.equal(whole.weight, fresh.weight)


def test_words_of_others_are_answered_with_ours():
    X, y = rows()
    for word, ours in {
        "optimizer": "optimiser",
        "criterion": "loss",
        "n_epochs": "epochs",
        "scheduler": "schedule",
        "validation_data": "valid",
        "max_grad_norm": "clip",
    }.items():
        with pytest.raises(TypeError, match=f"Did you mean '{ours}'"):
            nn.train(net(), (X, y), **{word: 1})
    with pytest.raises(TypeError, match="has no method losses"):
        nn.train(net(), (X, y))


def test_losses_by_name_and_object():
    F, Y = torch.tensor([[0.5], [2.0]]), torch.tensor([1, 0])
    named = find_loss("bce")(F, cast_target(Y, F))
    assert float(named) == pytest.approx(
        float(np.mean(np.log1p(np.exp([-0.5, 2.0])))), rel=1e-6
    )
    huber = find_loss(losses.huber(1.0))(F, torch.tensor([0.0, 0.0]))
    np.testing.assert_allclose(huber, [0.125, 1.5])
    assert cast_target(Y.to(torch.int8), torch.ones(2, 3)).dtype == torch.int64
    assert float(find_loss("half_squared")(F, 0 * F).mean()) == pytest.approx(1.0625)
    assert cast_target(Y.double(), F).shape == F.shape
    with pytest.raises(TypeError, match="loss must be a name"):
        find_loss(3)


def test_targets_of_dicts_and_of_autoencoders():
    X = rows()[0]
    module = torch.nn.Linear(3, 3)
    result = nn.train(module, X, loss="mse", lr=0.05, epochs=20, device="cpu", seed=0)
    assert result.history["loss"][-1] < 0.2 * result.history["loss"][0]
    with pytest.raises(ValueError, match="but no target"):
        nn.train(net(), {"input": X}, **OPTIONS)
