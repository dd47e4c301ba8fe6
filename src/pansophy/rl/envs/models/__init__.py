"""Environments made from a model: a table of transitions, a POMDP, a bandit."""
