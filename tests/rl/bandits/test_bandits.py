"""Bandits: trials and means by hand, regret against its bounds, delays, seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from pansophy.rl import (
    EXP3,
    KLUCB,
    UCB1,
    Bandit,
    BanditLearner,
    BayesUCB,
    Boltzmann,
    EpsilonGreedy,
    Pull,
    Schedule,
    ThompsonSampling,
    exp3_bound,
    find_best_arm,
    lai_robbins_bound,
    play_bandit,
    rollout,
    running_mean,
    ucb1_bound,
)
from pansophy.rl.bandits import _bandits
from pansophy.rl.envs import BanditEnv

STRATEGIES = {
    "epsilon": EpsilonGreedy(0.1),
    "softmax": Boltzmann(0.1),
    "ucb1": UCB1(),
    "kl-ucb": KLUCB(),
    "thompson": ThompsonSampling(),
    "bayes-ucb": BayesUCB(),
    "exp3": EXP3(0.1),
}
COIN = Bandit([0.2, 0.8, 0.5], noise="bernoulli")


def test_trials_of_the_four_cases():
    """Known: none. Unknown: one of each arm, or m of each where rewards are random."""
    certain = Bandit([3.0, 7.0, 5.0])
    noisy = Bandit([3.0, 7.0, 5.0], noise="normal")
    assert find_best_arm(certain, known=True)[:2] == (1, 0)
    assert find_best_arm(certain, repeats=9)[:2] == (1, 3)
    assert find_best_arm(noisy, known=True)[:2] == (1, 0)
    found = find_best_arm(noisy, repeats=40, random_state=0)
    assert found[:2] == (1, 120)
    np.testing.assert_allclose(found.means, noisy.means, atol=4.5 / np.sqrt(40))
    # errors fall with the number of pulls
    close = Bandit([0.0, 0.5], noise="normal")
    wrong = [
        np.mean(
            [
                find_best_arm(close, repeats=m, random_state=i).arm == 0
                for i in range(60)
            ]
        )
        for m in (1, 100)
    ]
    assert wrong[1] < wrong[0]


def test_running_means_by_hand():
    np.testing.assert_array_equal(running_mean([1, 0, 2, 5]), [1, 0.5, 1, 2])
    coin = np.array([20, 20, -10, 20, -10, -10, -10, -10, -10, -10])
    expected = [20, 20, 10, 12.5, 8, 5, 20 / 7, 1.25, 0, -1]
    np.testing.assert_allclose(running_mean(coin), expected, atol=1e-12)
    np.testing.assert_allclose(running_mean([0, 1, 1], step=0.5), [0, 0.5, 0.75])
    with pytest.raises(ValueError, match="step"):
        running_mean([1], step=0)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_running_mean_is_the_mean(rewards):
    n = np.arange(1, len(rewards) + 1)
    np.testing.assert_allclose(
        running_mean(rewards), np.cumsum(rewards) / n, atol=1e-9, rtol=1e-9
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_best_arm_is_found(name):
    run = play_bandit(COIN, STRATEGIES[name], 3000, n_runs=8, random_state=0)
    assert (run.best_arms == 1).mean() >= 0.8
    assert run.counts.sum(axis=1).tolist() == [3000] * 8
    assert (np.diff(run.regret, axis=1) >= 0).all()
    np.testing.assert_allclose(run.regret[:, -1], run.counts @ COIN.gaps)
    uniform = 3000 * COIN.gaps.mean()
    assert run.mean_regret[-1] < 0.6 * uniform


@pytest.mark.parametrize("name", STRATEGIES)
def test_same_seed_same_run_and_delays(name):
    strategy = STRATEGIES[name]
    runs = [
        play_bandit(COIN, strategy, 400, n_runs=3, random_state=seed, delay=delay)
        for seed, delay in ((1, 0), (1, 0), (2, 0), (1, 50))
    ]
    np.testing.assert_array_equal(runs[0].regret, runs[1].regret)
    assert (runs[0].regret != runs[2].regret).any()
    assert runs[3].counts.sum(axis=1).tolist() == [350] * 3  # the last are on their way


@pytest.mark.parametrize("name", ["ucb1", "kl-ucb", "thompson", "bayes-ucb"])
def test_regret_lies_between_its_bounds(name):
    """Lai-Robbins from below (asymptotic: with slack), UCB1's own bound from above."""
    arms = Bandit([0.9, 0.7], noise="bernoulli")
    run = play_bandit(arms, STRATEGIES[name], 8000, n_runs=15, random_state=0)
    low = lai_robbins_bound(arms, 8000)
    assert 0.5 * low < run.mean_regret[-1] < ucb1_bound(arms, 8000)
    if name == "kl-ucb":
        ucb = play_bandit(arms, UCB1(), 8000, n_runs=15, random_state=0)
        assert run.mean_regret[-1] < ucb.mean_regret[-1]


def test_exp3_stays_below_its_bound_and_normal_arms():
    g = np.sqrt(3 * np.log(3) / ((np.e - 1) * 5000))
    run = play_bandit(COIN, EXP3(g), 5000, n_runs=10, random_state=0)
    assert run.mean_regret[-1] < exp3_bound(3, 5000)
    arms = Bandit([0.0, 2.0, 1.0], noise="normal", scale=1.0)
    for strategy in (ThompsonSampling(), BayesUCB(), KLUCB(), UCB1(2.0)):
        run = play_bandit(arms, strategy, 2000, n_runs=5, random_state=0)
        assert (run.best_arms == 1).all()
        assert run.mean_regret[-1] < 300


def test_learner_and_loop_are_the_same_strategy():
    """The agent in Python learns the means and counts of the compiled rule."""
    learner = BanditLearner(3, UCB1())
    rewards = {0: [0.1, 0.2], 1: [0.9, 0.7], 2: [0.5, 0.5]}
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(6):
        pull = learner.pull(rng)
        reward = rewards[pull.arm][min(1, learner.counts[pull.arm])]
        learner.learn(pull, reward)
        seen.append(pull.arm)
    assert seen[:3] == [0, 1, 2]  # unpulled arms first
    t, n, m = 4, np.ones(3), np.array([0.1, 0.9, 0.5])
    assert seen[3] == np.argmax(m + np.sqrt(2 * np.log(t) / n))
    assert learner.counts.sum() == 6 and learner.best_arm == 1


def test_late_rewards_by_tickets():
    """Rewards that arrive in another order give the same means."""
    learner = BanditLearner(2, EXP3(0.3))
    rng = np.random.default_rng(0)
    pulls = [learner.pull(rng) for _ in range(20)]
    for pull in reversed(pulls):
        learner.learn(pull, float(pull.arm))
    np.testing.assert_array_equal(
        learner.counts, np.bincount([p.arm for p in pulls], minlength=2)
    )
    np.testing.assert_array_equal(learner.means, [0, 1])
    assert all(0 < p.chance <= 1 for p in pulls)
    with pytest.raises(ValueError, match="finite"):
        learner.learn(pulls[0], np.nan)


def test_drift_needs_a_constant_step():
    steady, moving = BanditLearner(1), BanditLearner(1, step=0.2)
    rng = np.random.default_rng(0)
    for reward in [0.0] * 100 + [1.0] * 30:
        for learner in (steady, moving):
            learner.learn(learner.pull(rng), reward)
    assert steady.means[0] < 0.3 and moving.means[0] > 0.99


def test_quantiles_and_draws_of_the_loops():
    for a, b, p in ((1, 1, 0.3), (2.5, 7, 0.99), (400, 30, 0.5), (1, 900, 0.999)):
        q = _bandits.beta_quantile(a, b, p)
        assert q == pytest.approx(special.betaincinv(a, b, p), abs=1e-12)
    for p in (0.5, 0.1, 1e-6):
        z = _bandits.normal_upper_quantile(p)
        assert z == pytest.approx(stats.norm.isf(p), abs=1e-9)
    assert _bandits.bernoulli_kl(0.0, 0.5) == pytest.approx(np.log(2))
    assert _bandits.bernoulli_kl(0.5, 1.0) == np.inf
    # Thompson: Beta(1, 1) exceeds Beta(1 + 3, 1) with probability 0.2
    belief = _bandits.ArmBelief(2, np.ones(2), 0.0)
    arms = _bandits.new_arms(2)
    arms.counts[0], arms.means[0] = 3, 1.0
    streams = np.random.default_rng(0).integers(2**63, size=(4000, 1)).astype(np.uint64)
    won = [_bandits.choose_arm(4, 0.0, belief, arms, 4, s)[0] for s in streams]
    assert abs(np.mean(won) - 0.2) < 4.5 * np.sqrt(0.2 * 0.8 / 4000)


def test_posteriors_of_normal_arms_have_their_own_scale():
    """Draws of N(0, 1 / 4) exceed draws of N(0.5, 9 / 4) with a known probability."""
    learner = BanditLearner(2, ThompsonSampling(), noise="normal", scale=[1.0, 3.0])
    learner.arms.counts[:] = 4
    learner.arms.means[:] = [0.0, 0.5]
    rng = np.random.default_rng(0)
    won = np.mean([learner.pull(rng).arm == 0 for _ in range(4000)])
    expected = stats.norm.cdf(-0.5 / np.sqrt(0.25 + 2.25))
    assert abs(won - expected) < 4.5 * np.sqrt(0.25 / 4000)
    arms = Bandit([0.0, 1.0, 0.5], noise="normal", scale=[1.0, 0.1, 8.0])
    run = play_bandit(arms, BayesUCB(), 500, n_runs=30, random_state=0)
    # the second arm is known within 0.1 after one pull: the first is given up at once,
    # which takes dozens of pulls if it is thought to vary as the third does
    assert run.counts[:, 0].mean() < 20
    with pytest.raises(ValueError, match="one for each of 2 arms"):
        BanditLearner(2, scale=[1.0, 2.0, 3.0])


def test_in_an_environment_and_with_a_schedule():
    env = BanditEnv(COIN)
    learner = BanditLearner(3, EpsilonGreedy(Schedule(1.0, 0.0, 200)))
    run = rollout(env, learner, n_steps=600, random_state=0)
    assert learner.best_arm == 1 and learner.counts.sum() == 600
    assert run.lengths.tolist() == [100] * 6


def test_errors_say_what_is_wrong():
    for make, what in (
        (lambda: Bandit([]), "one for each arm"),
        (lambda: Bandit([np.nan]), "NaN"),
        (lambda: Bandit([1.0], noise="odd"), "noise must be one of"),
        (lambda: Bandit([2.0], noise="bernoulli"), "from 0 to 1"),
        (lambda: Bandit([2.0], scale=0.0), "scale"),
        (lambda: BanditLearner(0), "n_arms"),
        (lambda: BanditLearner(1, noise="none"), "noise must be"),
        (lambda: BanditLearner(1, step=2.0), "step"),
        (lambda: play_bandit(COIN, UCB1(), 0), "n_pulls"),
        (lambda: play_bandit(COIN, UCB1(), 5, delay=-1), "delay"),
        (lambda: find_best_arm(COIN, repeats=0), "repeats"),
    ):
        with pytest.raises(ValueError, match=what):
            make()
    assert repr(COIN) == "Bandit of 3 arms, noise 'bernoulli'"
    assert Bandit([1.0, 0.0]).divergence()[1] == np.inf


@pytest.mark.parametrize("strategy", [UCB1(), KLUCB()])
def test_arms_take_turns_while_rewards_are_late(strategy):
    learner = BanditLearner(3, strategy)
    rng = np.random.default_rng(0)
    pulls = [learner.pull(rng) for _ in range(7)]
    assert [pull.arm for pull in pulls] == [0, 1, 2, 0, 1, 2, 0]
    learner.learn(pulls[1], 1.0)
    assert [learner.pull(rng).arm for _ in range(2)] == [2, 0]  # still unknown ones
    run = play_bandit(Bandit([0.1, 0.2, 0.9]), strategy, 30, delay=30)
    assert run.regret[0, -1] == pytest.approx(10 * (0.8 + 0.7))


@pytest.mark.parametrize("strategy", [KLUCB(), ThompsonSampling(), BayesUCB()])
@pytest.mark.parametrize("means", [[5.0, 10.0, 7.0], [-3.0, -1.0, -2.0]])
def test_certain_arms_beyond_0_and_1(strategy, means):
    run = play_bandit(Bandit(means), strategy, 2000, n_runs=3, random_state=0)
    assert (run.best_arms == 1).all()
    assert run.mean_regret[-1] < 40
    learner = BanditLearner(3, strategy)
    with pytest.raises(ValueError, match="rewards must be from 0 to 1"):
        learner.learn(Pull(0, 1.0), means[0])


def test_a_late_reward_of_exp3_counts_with_the_rate_of_its_pull():
    learner = BanditLearner(2, EXP3(lambda t: 0.5 / (1 + np.asarray(t))))
    rng = np.random.default_rng(0)
    pull = learner.pull(rng)
    for _ in range(3):
        learner.pull(rng)
    learner.learn(pull, 1.0)
    assert learner.arms.log_weights[pull.arm] == pytest.approx(0.5 / (0.5 * 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: UCB1(-1.0),
        lambda: KLUCB(float("nan")),
        lambda: EXP3(2.0),
        lambda: EXP3(0.0),
        lambda: BanditLearner(2.5),
        lambda: BanditLearner(2, scale=-1.0),
        lambda: BanditLearner(2, "ucb1"),
        lambda: BanditLearner(2, UCB1),
        lambda: play_bandit(Bandit([1.0]), UCB1(), 5, step=2.0),
        lambda: play_bandit(Bandit([1.0]), UCB1(), 2.5),
        lambda: BanditLearner(2).learn(Pull(9, 1.0), 1.0),
        lambda: Bandit([1.0, 2.0], scale=[1.0, 2.0, 3.0]),
    ],
)
def test_wrong_arguments_get_one_sentence(make):
    with pytest.raises((ValueError, TypeError), match=" must be "):
        make()
