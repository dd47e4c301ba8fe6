"""Anomaly detection: digits that an autoencoder has never seen.

An ensemble of autoencoders learns zeros. Other digits are reconstructed badly, so that
their error is above the threshold that the zeros set. The same detector takes any model
with `score_samples`, here probabilistic PCA for comparison.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from pansophy import plot
from pansophy.decomposition import ProbabilisticPCA
from pansophy.generative import Autoencoder, AutoencoderDetector

digits = load_digits()
X, y = digits.data, digits.target
usual = X[y == 0]
train, test = usual[:120], np.concatenate([usual[120:], X[y != 0][:300]])
is_odd = np.r_[np.zeros(len(usual) - 120), np.ones(300)]

autoencoder = Autoencoder(
    8, hidden_layer_sizes=(64,), scaling="global", n_epochs=60, device="cpu"
)
detectors = {
    "ensemble of 3 autoencoders": AutoencoderDetector(
        autoencoder, n_estimators=3, n_std=3, random_state=0
    ),
    "probabilistic PCA": AutoencoderDetector(ProbabilisticPCA(8), n_std=3),
}
for name, detector in detectors.items():
    detector.fit(train)
    flagged = detector.predict(test) == -1
    print(
        f"{name:28} AUC {roc_auc_score(is_odd, -detector.score_samples(test)):.3f}, "
        f"flags {flagged[is_odd == 1].mean():.0%} of the other digits and "
        f"{flagged[is_odd == 0].mean():.0%} of new zeros"
    )

member = detectors["ensemble of 3 autoencoders"].estimators_[0]
shown = np.concatenate([usual[120:124], X[y != 0][:4]])
plot.reconstructions(member, shown)
plt.savefig("anomalies.png")
print("anomalies.png: four zeros and four other digits above what is made of them")
