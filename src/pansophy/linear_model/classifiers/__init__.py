"""Linear classifiers: logistic regression and its solvers, perceptrons, reductions."""
