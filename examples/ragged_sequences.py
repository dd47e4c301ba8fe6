"""Sequences of unequal length: classes of whole sequences, labels of their steps."""

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split

from pansophy import Ragged
from pansophy.neural_network import SequenceClassifier, SequenceTagger

rng = np.random.default_rng(0)

# two sensors of a machine: when it is worn, the second lags behind the first
worn = np.arange(200) % 2 == 1
runs = []
for state in worn:
    t = np.arange(rng.integers(10, 25)) + rng.uniform(0, 6)
    lag = 1.5 if state else 0.2
    both = np.stack([np.sin(t), np.sin(t - lag)], axis=1)
    runs.append(both + 0.3 * rng.normal(size=both.shape))
X = Ragged.from_list(runs)
print(X)

seen, unseen, y, wanted = train_test_split(X, worn, test_size=50, random_state=0)
search = GridSearchCV(
    SequenceClassifier(hidden_size=16, n_epochs=20, random_state=0, device="cpu"),
    {"architecture": ["gru", "lstm"]},
    cv=3,
)
search.fit(seen, y)
print(f"best layer {search.best_params_['architecture']}")
print(f"{search.score(unseen, wanted):.0%} of the runs not seen are told apart")

# a switch that seldom turns, seen through noise: a label for each step
steps, labels = [], []
for _ in range(120):
    on = np.cumsum(rng.random(rng.integers(10, 30)) < 0.1) % 2 == 1
    steps.append(np.where(on, 1.0, -1.0)[:, None] + rng.normal(size=(len(on), 1)))
    labels.append(np.where(on, "on", "off"))
alone = np.mean(np.concatenate([np.where(x[:, 0] > 0, "on", "off") for x in steps[90:]])
                == np.concatenate(labels[90:]))  # fmt: skip
tagger = SequenceTagger(
    "gru", output="crf", hidden_size=16, n_epochs=20, random_state=0, device="cpu"
)
tagger.fit(steps[:90], labels[:90])
print(f"steps one by one {alone:.0%} right, as sequences "
      f"{tagger.score(steps[90:], labels[90:]):.0%}")  # fmt: skip
