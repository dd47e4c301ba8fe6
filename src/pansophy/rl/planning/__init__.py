"""Planning in known worlds: Markov decision processes and their solvers.

`mdp` holds the process and evaluates policies; value and policy iteration, linear
programming, finite horizons, average rewards and prioritised sweeping solve it.
"""
