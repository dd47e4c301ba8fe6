"""Learning with tables and linear functions: Q-learning, SARSA, Monte Carlo,
prediction.

`features` turns states into columns, `exploration` chooses actions, `schedules` lowers
rates with visits.
"""
