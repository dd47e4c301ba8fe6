# The picture of examples/bandits.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5))
for strategy in (EpsilonGreedy(0.1), UCB1(), ThompsonSampling()):
    run = play_bandit(arms, strategy, T, n_runs=20, random_state=0)
    at = np.linspace(0, T, len(run.mean_regret))
    ax.plot(at, run.mean_regret, label=type(strategy).__name__)
ax.set(xlabel="pulls", ylabel="mean regret")
ax.legend()
