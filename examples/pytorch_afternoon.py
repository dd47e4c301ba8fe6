"""A PyTorch user's afternoon: own module and loss, a loader, a search, save, load."""

import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from torch.utils.data import DataLoader, TensorDataset

import pansophy
from pansophy import nn, persist
from pansophy.neural_network import NetClassifier


@persist.register  # lets files with this class be saved and loaded, in this process
class Digits(torch.nn.Module):
    def __init__(self, n_classes, hidden=32, dropout=0.2):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.LazyLinear(hidden),
            torch.nn.ReLU(),
            torch.nn.Dropout(dropout),
            torch.nn.Linear(hidden, n_classes),
        )

    def forward(self, X):
        return self.layers(X / 16)


@persist.register
def focal(output, target):
    """Cross-entropy that counts rows less the surer the net is of them."""
    log_p = torch.log_softmax(output, 1)[torch.arange(len(target)), target]
    return -((1 - log_p.exp()) ** 2) * log_p


X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)

# the loop: a loader, torch's optimiser and scheduler, a metric, a callback
net = Digits(n_classes=10)
net(torch.zeros(1, 64))  # makes the weights of the lazy layer
loader = DataLoader(
    TensorDataset(torch.tensor(X), torch.tensor(y)), batch_size=64, shuffle=True
)
optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
result = nn.train(
    net,
    loader,
    loss=torch.nn.CrossEntropyLoss(),
    optimiser=optimiser,
    schedule=torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 8),
    valid=(X_test, y_test),
    metrics={"accuracy": lambda F, Y: (F.argmax(1) == Y).double().mean()},
    callbacks=[lambda told: told.values["valid_accuracy"] > 0.99],
    epochs=8,
    device="cpu",
    seed=0,
)
print("accuracy after each epoch", result.history["valid_accuracy"].round(2))

with tempfile.TemporaryDirectory() as folder:
    # a run that was stopped goes on as if it had not been
    options = {"loss": focal, "device": "cpu", "seed": 0, "lr": 0.01}
    checkpoint = Path(folder, "run")
    short = [lambda told: told.epoch == 3]
    nn.train(net, (X, y), checkpoint=checkpoint, callbacks=short, **options)
    result = nn.train(net, (X, y), checkpoint=checkpoint, resume=True, **options)
    print("epochs of the resumed run", result.n_iter, result.history["loss"].shape)

    # the same module as an estimator: a search over its arguments
    model = NetClassifier(
        Digits, loss=focal, n_epochs=10, mc_dropout=10, random_state=0, device="cpu"
    )
    search = GridSearchCV(model, {"module__hidden": [4, 64]}, cv=2).fit(X, y)
    best = search.best_estimator_
    print("best", search.best_params_, "accuracy", round(best.score(X_test, y_test), 2))

    # how sure it is, then a file without pickle, and back
    p, spread = best.predict_proba(X_test[:3], return_std=True)
    print("highest probability", p.max(1).round(2), "+-", spread.max(1).round(2))
    path = Path(folder, "digits.pansophy")
    pansophy.save(best, path)
    again = pansophy.load(path)
    print(
        "the same after loading", (again.predict(X_test) == best.predict(X_test)).all()
    )
