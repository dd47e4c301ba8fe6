"""Sequence nets: an LSTM classifier against loops written by hand, and attention.

Batches are the same sequences in the same order for ours and the torch loops, from the
same weights, so that the loss curves are equal step by step.
"""

import numpy as np

from .runner import Case

EPOCHS, BATCH, HIDDEN, RATE = 4, 64, 64, 1e-3


def ragged_waves(size):
    """n sequences of 20 to 60 steps, 12 columns, 6 classes by frequency, float32."""
    (n,) = size
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=n)
    lists = []
    for label in y:
        t = np.arange(rng.integers(20, 61))[:, None]
        wave = np.sin((0.2 + 0.1 * label) * t + rng.uniform(0, 6, 12))
        lists.append((wave + rng.normal(size=wave.shape)).astype(np.float32))
    return lists, y


def first_weights():
    """Weights of an LSTM and an output layer, by torch's names."""
    import torch

    torch.manual_seed(0)
    lstm = torch.nn.LSTM(12, HIDDEN, batch_first=True)
    output = torch.nn.Linear(HIDDEN, 6)
    return lstm, output


def orders(n):
    """The order of the rows in each epoch, as `nn.Batches` draws it."""
    rng = np.random.default_rng(1)
    return [rng.permutation(n) for _ in range(EPOCHS)]


class FixedOrder:
    """Rows in the order of `orders`, epoch after epoch."""

    def __init__(self, rows, n):
        self.rows, self.order = rows, np.concatenate(orders(n))

    def __len__(self):
        return len(self.order)

    def take(self, places):
        return self.rows.take(self.order[places])


def ours(payload):
    """`nn.train` of `nn.SequenceNet`; the losses of all steps come back."""
    import torch

    from pansophy import nn
    from pansophy.core.arrays.ragged import Ragged

    lists, y = payload
    lstm, output = first_weights()
    layer = nn.LSTM(12, HIDDEN)
    names = {"W_x_0": "weight_ih_l0", "W_h_0": "weight_hh_l0"}
    names |= {"b_x_0": "bias_ih_l0", "b_h_0": "bias_hh_l0"}
    net = nn.SequenceNet(layer, 6)
    with torch.no_grad():
        for name, w in layer.weights.items():
            w.copy_(getattr(lstm, names[name]))
        net.output.load_state_dict(output.state_dict())
    rows = FixedOrder(nn.RaggedRows(Ragged.from_list(lists), y), len(y))
    steps = -(-len(y) // BATCH)
    result = nn.train(
        net, rows, epochs=EPOCHS, batch_size=BATCH, steps_per_epoch=steps,
        optimiser=nn.Adam(RATE), shuffle=False, device="cpu", seed=0,
    )  # fmt: skip
    return result.history["loss"]


def torch_loop(batch_scores):
    """What one writes without a library, with this way to handle unequal lengths."""

    def fit(payload):
        import torch
        from torch.nn import functional

        lists, y = payload
        tensors = [torch.from_numpy(x) for x in lists]
        labels = torch.from_numpy(y)
        lstm, output = first_weights()
        weights = [*lstm.parameters(), *output.parameters()]
        optimiser = torch.optim.Adam(weights, lr=RATE)
        curve = []
        for order in orders(len(y)):
            total = 0.0
            for i in range(0, len(y), BATCH):
                rows = order[i : i + BATCH]
                part = [tensors[r] for r in rows]
                optimiser.zero_grad()
                scores = output(batch_scores(lstm, part))
                loss = functional.cross_entropy(scores, labels[rows])
                loss.backward()
                optimiser.step()
                total += loss.item() * len(rows)
            curve.append(total / len(y))
        return np.array(curve)

    return fit


def packed_states(lstm, part):
    """The usual way: pack_sequence, which skips the padding."""
    from torch.nn.utils import rnn

    packed = rnn.pack_sequence(part, enforce_sorted=False)
    return lstm(packed)[1][0][-1]


def padded_states(lstm, part):
    """Padding, and the output of each sequence's last step."""
    import torch
    from torch.nn.utils import rnn

    H, _ = lstm(rnn.pad_sequence(part, batch_first=True))
    last = torch.tensor([len(x) - 1 for x in part])
    return H[torch.arange(len(part)), last]


def skorch_loop(payload):
    """skorch's NeuralNetClassifier over the packed net."""
    import torch
    from skorch import NeuralNetClassifier
    from torch.nn.utils import rnn

    lists, y = payload
    lstm, output = first_weights()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.output = lstm, output

        def forward(self, X, lengths):
            packed = rnn.pack_padded_sequence(
                X, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            return self.output(self.lstm(packed)[1][0][-1])

    order = np.concatenate(orders(len(y)))  # the same rows, one long epoch
    longest = max(map(len, lists))
    padded = np.zeros((len(y), longest, 12), np.float32)
    for i, x in enumerate(lists):
        padded[i, : len(x)] = x
    data = {
        "X": padded[order],
        "lengths": np.array([len(x) for x in lists])[order],
    }
    net = NeuralNetClassifier(
        Net, criterion=torch.nn.CrossEntropyLoss, optimizer=torch.optim.Adam,
        lr=RATE, batch_size=BATCH, max_epochs=1, train_split=None, verbose=0,
        iterator_train__shuffle=False,
    )  # fmt: skip
    net.fit(data, y[order])
    return np.array([net.history[-1, "train_loss"]])


def last_loss(payload, curve):
    """Mean loss of the last epoch; of skorch's one long epoch, the mean of all."""
    return float(curve[-1])


def sequence(size):
    import torch

    (L,) = size
    torch.manual_seed(0)
    return [torch.randn(1, 2, L, 32) for _ in range(3)]


def attention_step(backend):
    """Forwards and backwards once; the gradient of the queries."""

    def run(payload):
        from pansophy import nn

        q, k, v = (a.clone().requires_grad_() for a in payload)
        nn.attend(q, k, v, causal=True, backend=backend).square().sum().backward()
        return q.grad

    return run


def gradient_error(payload, grad):
    """Distance to the plain matrix form on the first 256 queries."""
    from pansophy import nn

    q, k, v = (a[:, :, :256].double().requires_grad_() for a in payload)
    nn.attend(q, k, v, causal=True, backend="plain").square().sum().backward()
    return float((grad[:, :, :256].double() - q.grad).abs().max())


CASES = [
    Case(
        name="lstm_ragged",
        what="LSTM 12-64, 6 classes, 20 to 60 steps, Adam 1e-3, batch 64, 4 epochs",
        sizes=[(1024,), (2048,), (4096,)],
        data=ragged_waves,
        ours=ours,
        peers={
            "torch, packed": torch_loop(packed_states),
            "torch, padded": torch_loop(padded_states),
            "skorch": skorch_loop,
        },
        written=(
            "torch, packed",
            "torch, padded",
        ),
        quality=last_loss,
        tolerance=1e-3,
        target=1.0,
        main="torch, padded",
        targets={"torch, packed": 1.0, "skorch": 1.0},
    ),
    Case(
        name="attention_memory",
        what="causal attention forwards and backwards, 2 heads of 32: blockwise",
        sizes=[(1024,), (2048,), (4096,)],
        data=sequence,
        ours=attention_step("blockwise"),
        peers={"matrix of weights": attention_step("plain")},
        written=("matrix of weights",),
        quality=gradient_error,
        tolerance=1e-3,
        target=1.0,
        notes="Memory is what counts: O(L) against O(L^2).",
    ),
]
