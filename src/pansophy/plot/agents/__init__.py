"""Figures of agents: worlds, values, returns, regret, beliefs."""
