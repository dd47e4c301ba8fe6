"""Compiled games of blackjack."""

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


@compiled(inner=True)
def _random_card(stream):
    """1 to 10; ten stands for ten and the three pictures."""
    return min(1 + int(random_uniform(stream) * 13), 10)


@compiled(inner=True)
def _add_card(state, i, row, card):
    """A card for the hand in rows row..row+2: hard sum, ace, number of cards."""
    state[row, i] += card
    if card == 1:
        state[row + 1, i] = 1
    state[row + 2, i] += 1


@compiled(inner=True)
def _hand_sum(state, i, row):
    """Sum of a hand, an ace counting 11 where that does not exceed 21."""
    hard = state[row, i]
    return hard + 10 if state[row + 1, i] == 1 and hard <= 11 else hard


@compiled(inner=True)
def _has_natural(state, i, row):
    """Whether a hand is an ace and a ten."""
    return state[row + 2, i] == 2 and state[row + 1, i] == 1 and state[row, i] == 11


@compiled
def deal_cards(state, i, first, second, third, fourth):
    """Two cards for the dealer, the first shown, then two for the player."""
    state[:, i] = 0
    _add_card(state, i, 3, first)
    _add_card(state, i, 3, second)
    _add_card(state, i, 0, third)
    _add_card(state, i, 0, fourth)
    state[6, i] = first


@compiled
def start_blackjacks(state, stream, which):
    """Deal in some columns."""
    for i in which:
        own_stream = stream[i : i + 1]
        first = _random_card(own_stream)
        second = _random_card(own_stream)
        third = _random_card(own_stream)
        deal_cards(state, i, first, second, third, _random_card(own_stream))


@compiled
def observe_blackjacks(state, which, observation):
    """The player's sum, the dealer's first card, whether an ace counts 11."""
    for i in which:
        total = _hand_sum(state, i, 0)
        observation[i, 0] = total
        observation[i, 1] = state[6, i]
        observation[i, 2] = total != state[0, i]


@compiled
def score_blackjack(state, i, action, outcome):
    """Reward and end after the cards of an action were drawn."""
    observation, reward, terminated = outcome
    player = _hand_sum(state, i, 0)
    if action == 1:
        terminated[i] = player > 21
        reward[i] = -1.0 if player > 21 else 0.0
    else:
        dealer = _hand_sum(state, i, 3)
        if dealer > 21:
            dealer = 0
        terminated[i] = True
        reward[i] = (player > dealer) * 1.0 - (player < dealer) * 1.0
        if _has_natural(state, i, 0) and not _has_natural(state, i, 3):
            reward[i] = 1.0
    observation[i, 0] = player
    observation[i, 1] = state[6, i]
    observation[i, 2] = player != state[0, i]


@compiled
def step_blackjacks(state, action, stream, outcome, lo, hi):
    """Draw the cards of columns lo..hi-1 and score them."""
    for i in range(lo, hi):
        own_stream = stream[i : i + 1]
        if action[i] == 1:
            _add_card(state, i, 0, _random_card(own_stream))
        else:
            while _hand_sum(state, i, 3) < 17:
                _add_card(state, i, 3, _random_card(own_stream))
        score_blackjack(state, i, action[i], outcome)
