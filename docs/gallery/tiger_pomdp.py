# The picture of examples/tiger_pomdp.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

left = np.linspace(0, 1, 101)
beliefs = np.column_stack([left, 1 - left])
fig, ax = plt.subplots(figsize=(5.5, 3.2))
ax.plot(left, [exact.policy.value(b) for b in beliefs], label="exact")
ax.plot(left, [qmdp(tiger, GAMMA).value(b) for b in beliefs], "--", label="QMDP")
ax.set(xlabel="probability that the tiger is on the left", ylabel="value")
ax.legend()
