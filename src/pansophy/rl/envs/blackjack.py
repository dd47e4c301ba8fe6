"""Blackjack: draw cards up to 21 against a dealer who stops at 17.

Cards are drawn with replacement: ace = 1, 2, ..., 9, and 10 for ten and the three
pictures. An ace counts 11 where that does not exceed 21 ("usable"). Action 1 hits; 0
sticks, and the dealer draws until 17. Exceeding 21 loses; the greater sum wins; an ace
and a ten at once (a natural) win against a dealer who has none. The rules and, for the
same seed, the cards are those of Gymnasium's Blackjack-v1 (`sab=True`).

Shapes    state (7, N): hard sum, ace and number of cards of the player, the same of the
          dealer, his first card   observation: sum, dealer's first card, usable ace
Refs      [Sutton2018] example 5.1
"""

import gymnasium
import numpy as np

from . import _blackjack as loops
from .vector import Outcome, SingleWorld

DECK = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)


class Blackjack(SingleWorld):
    """Gymnasium's Blackjack-v1.

    Parameters
    ----------
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import Blackjack
    >>> env = Blackjack()
    >>> env.reset(seed=0)
    ((11, 10, 0), {})
    """

    def __init__(self, *, render_mode=None):
        parts = [gymnasium.spaces.Discrete(n) for n in (32, 11, 2)]
        space = gymnasium.spaces.Tuple(parts)
        super().__init__(space, gymnasium.spaces.Discrete(2), 0, render_mode)

    def new_state(self, n):
        return np.zeros((7, n), np.int64)

    def draw_start(self):
        choice = self.np_random.choice
        cards = [int(choice(DECK)) for _ in range(4)]
        choice(4)  # the suit and face that Gymnasium paints
        if cards[0] == 10:
            choice(3)
        loops.deal_cards(self.state, 0, *cards)

    def start_batch(self, state, stream, which):
        loops.start_blackjacks(state, stream, which)

    def observe_batch(self, state, which, observation):
        loops.observe_blackjacks(state, which, observation)

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_blackjacks(state, action, stream, outcome, *columns)

    def step(self, action):
        """One step with the cards of the environment's generator."""
        hand = self.state[:, 0]
        if action == 1:
            self._draw(hand[:3])
        elif action == 0:
            while hand[3] + 10 * (hand[4] and hand[3] <= 11) < 17:
                self._draw(hand[3:6])
        else:
            raise ValueError(f"{action!r} is not in {self.action_space}.")
        outcome = Outcome(self._new_observation(), np.empty(1), np.empty(1, bool))
        loops.score_blackjack(self.state, 0, int(action), outcome)
        self.seen = self._as_space(outcome.observation)
        terminated = bool(outcome.terminated[0])
        return self.seen, float(outcome.reward[0]), terminated, False, {}

    def _draw(self, hand):
        """Add a card to a hand: its hard sum, whether it has an ace, its size."""
        card = int(self.np_random.choice(DECK))
        hand[:] = hand[0] + card, hand[1] or card == 1, hand[2] + 1
