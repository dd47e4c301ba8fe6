# The picture of examples/long_memory.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 2.4))
one, label = sequences(1, 120, np.random.default_rng(1))
ax.plot(one[0, :, -1], lw=0.8, label="noise")
ax.plot([0], [1.0], "o", label="the symbol, in the first step only")
ax.set(xlabel="step")
ax.legend()
