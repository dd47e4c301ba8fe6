# The picture of examples/regimes.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3))
path = np.cumsum(returns)
ax.plot(path, lw=0.8)
stormy = np.argsort(order)[model.predict(returns)] == 1
ax.fill_between(np.arange(1000), path.min(), path.max(), where=stormy, alpha=0.25,
                label="stormy")  # fmt: skip
ax.set(xlabel="day", ylabel="sum of returns")
ax.legend()
