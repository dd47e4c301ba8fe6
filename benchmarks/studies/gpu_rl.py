"""PPO on CartPole with everything on the device: worlds, policy, advantages, updates.

    python -m benchmarks.studies.gpu_rl --device cuda   # H200: the figure
    python -m benchmarks.studies.gpu_rl --device cpu --envs 64 --iterations 3   # toy

N cart poles are tensors (N,); a round steps them T times with actions drawn on the
device, computes advantages backwards in time, and takes `epochs` passes in large
batches, with the objective of `rl.deep.ppo`, its gradients by hand, and the
step of `nn.training.gradient_step`. Nothing is copied to the host until the end of a
round's statistics. Time limits bootstrap from the value of the last observation, as in
`rl.experience.returns`.

Prints steps a second of whole rounds (stepping and learning), without the first two,
and the mean length of the greedy policy's episodes at the end.
"""

import argparse
import json
import math
import time

import numpy as np
import torch

from pansophy.nn.training.devices import resolve_device, seeded_torch
from pansophy.nn.training.gradient_step import GradientStep, LossTotals
from pansophy.nn.training.optimisers import Adam
from pansophy.rl.deep.action_heads import CategoricalHead
from pansophy.rl.deep.actor_critic import standardised
from pansophy.rl.deep.actor_critic_net import ActorBatch, ActorCriticNet
from pansophy.rl.deep.ppo import ClippedObjective
from pansophy.rl.deep.small_nets import orthogonal_mlp
from pansophy.rl.envs import _cart_pole as physics

LIMIT = 500


class CartPoles:
    """N cart poles with the numbers of `rl.envs.CartPole`, reset where they end."""

    def __init__(self, n, device):
        self.n, self.device = n, device
        self.state = self.draw_starts()
        self.age = torch.zeros(n, device=device, dtype=torch.int64)

    def draw_starts(self):
        return torch.rand(self.n, 4, device=self.device) * 0.1 - 0.05

    def step(self, action):
        """(next observation in the same episode, terminated, truncated)."""
        x, v, theta, omega = self.state.unbind(1)
        force = torch.where(action == 1, physics.FORCE, -physics.FORCE)
        c, s = torch.cos(theta), torch.sin(theta)
        h = (force + physics.POLE_MASS_LENGTH * omega * omega * s) / physics.TOTAL_MASS
        turn = (physics.GRAVITY * s - c * h) / (
            physics.HALF_LENGTH
            * (4.0 / 3.0 - physics.POLE_MASS * c * c / physics.TOTAL_MASS)
        )
        push = h - physics.POLE_MASS_LENGTH * turn * c / physics.TOTAL_MASS
        tau = physics.TAU
        moved = (x + tau * v, v + tau * push, theta + tau * omega, omega + tau * turn)
        after = torch.stack(moved, 1)
        terminated = (after[:, 0].abs() > physics.X_LIMIT) | (
            after[:, 2].abs() > physics.THETA_LIMIT
        )
        self.age += 1
        truncated = (self.age == LIMIT) & ~terminated
        done = terminated | truncated
        self.state = torch.where(done[:, None], self.draw_starts(), after)
        self.age = torch.where(done, 0, self.age)
        return after, terminated, truncated


@torch.no_grad()
def rollout_on_device(poles, net, horizon):
    """Tensors (T, N) of a round."""
    rows = {k: [] for k in ("x", "action", "after", "terminated", "done")}
    for _ in range(horizon):
        x = poles.state
        F = net.policy.forward_pass(x)[-1]
        noise = -torch.log(-torch.log(torch.rand_like(F) + 1e-20) + 1e-20)
        action = (F + noise).argmax(1)
        after, terminated, truncated = poles.step(action)
        found = (x, action, after, terminated, terminated | truncated)
        for name, value in zip(rows, found, strict=True):
            rows[name].append(value)
    return {name: torch.stack(values) for name, values in rows.items()}


@torch.no_grad()
def advantages_on_device(net, rows, gamma, lam):
    """Advantages and targets (T, N), eqs. (1)-(3) of `rl.experience.returns`; rewards
    are 1.
    """
    value = lambda X: net.value.forward_pass(X.flatten(0, 1))[-1].view(X.shape[:2])
    V, after = value(rows["x"]), value(rows["after"])
    delta = 1.0 + gamma * after * ~rows["terminated"] - V
    going_on = gamma * lam * ~rows["done"]
    A = torch.empty_like(delta)
    later = torch.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        later = delta[t] + going_on[t] * later
        A[t] = later
    return A, A + V


@torch.no_grad()
def learn_round(net, step, rows, options, scale):
    """`epochs` passes over the rows of a round."""
    A, target = advantages_on_device(net, rows, options.gamma, options.gae_lambda)
    X = rows["x"].flatten(0, 1)
    action = rows["action"].flatten()[:, None]
    log_q = net.head.evaluate(net.policy.forward_pass(X)[-1], action).log_prob
    batch = ActorBatch(X, action, None, log_q, A.flatten(), target.flatten())
    n = len(X)
    cut = math.ceil(n / options.minibatches)
    for _ in range(options.epochs):
        shuffled = batch.rows(torch.randperm(n, device=X.device))
        for lo in range(0, n, cut):
            part = shuffled.rows(slice(lo, lo + cut))
            part = part._replace(advantage=standardised(part.advantage))
            step([(part, len(part.X))], scale)


@torch.no_grad()
def greedy_lengths(net, n, device):
    """Mean length of the first greedy episodes of n cart poles."""
    poles = CartPoles(n, device)
    length = torch.zeros(n, device=device)
    playing = torch.ones(n, device=device, dtype=torch.bool)
    for _ in range(LIMIT):
        length += playing
        _, terminated, truncated = poles.step(
            net.policy.forward_pass(poles.state)[-1].argmax(1)
        )
        playing &= ~(terminated | truncated)
    return float(length.mean())


def run(options) -> dict:
    device = resolve_device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = True
    rng = np.random.default_rng(options.seed)
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    with seeded_torch(device, options.seed):
        make = lambda m, gain: orthogonal_mlp(
            (4, 64, 64, m), rng, activation="tanh", last_gain=gain
        )
        net = ActorCriticNet(
            make(2, 0.01), make(1, 1.0), CategoricalHead((2,)), clip_range=0.2
        ).to(device)
        step = GradientStep(
            ClippedObjective(net),
            Adam(options.learning_rate, eps=1e-5),
            LossTotals(),
            clip=0.5,
        )
        poles = CartPoles(options.envs, device)
        marks = []
        for i in range(options.iterations):
            wait()
            marks.append(time.perf_counter())
            rows = rollout_on_device(poles, net, options.horizon)
            learn_round(net, step, rows, options, 1 - i / options.iterations)
        wait()
        marks.append(time.perf_counter())
        length = greedy_lengths(net, min(options.envs, 1024), device)
    first = min(2, options.iterations - 1)  # rounds in which kernels are loaded
    seconds = marks[-1] - marks[first]
    per_round = options.envs * options.horizon
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return {
        "device": where,
        "envs": options.envs,
        "steps": per_round * options.iterations,
        "steps_per_second": per_round * (options.iterations - first) / seconds,
        "seconds_in_all": marks[-1] - marks[0],
        "greedy_length": length,
    }


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--envs", type=int, default=16384)
    parser.add_argument("--horizon", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--gamma", type=float, default=0.98)
    parser.add_argument("--gae-lambda", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    print(json.dumps(run(parse_arguments()), indent=2))
