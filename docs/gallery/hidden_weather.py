# The picture of examples/hidden_weather.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 2.6))
first = slice(0, 120)
belief = model.predict_proba(X)[first, 1]
if np.mean(guess == days) < 0.5:
    belief = 1 - belief
ax.fill_between(
    np.arange(120), np.array(days)[first], step="mid", alpha=0.3, label="wet"
)
ax.plot(belief, label="what the model believes")
ax.set(xlabel="day", ylabel="probability of wet")
ax.legend()
