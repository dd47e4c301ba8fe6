"""Figures of series and states: filters, regimes, poles, trellises."""
