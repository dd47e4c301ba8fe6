# The picture of examples/letters.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.2))
edges = np.linspace(0, 1, 21)
ax.hist([p.max(axis=1)[good], p.max(axis=1)[~good]], edges, stacked=True,
        label=["right", "wrong"])  # fmt: skip
ax.set(xlabel="probability of the predicted letter", ylabel="letters")
ax.legend()
