# The picture of examples/tagging.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt
import numpy as np

tags = [str(t) for t in model.classes_]
weights = np.zeros((len(tags), len(tags)))
for (a, b), w in model.transition_features_.items():
    weights[tags.index(a), tags.index(b)] = w
fig, ax = plt.subplots(figsize=(4, 3.2))
shown = ax.imshow(weights, cmap="RdBu_r", vmin=-2, vmax=2)
ax.set_xticks(range(len(tags)), tags)
ax.set_yticks(range(len(tags)), tags)
ax.set(xlabel="next tag", ylabel="tag")
fig.colorbar(shown, ax=ax)
