"""Models of kernel values: logistic regression, perceptron, least-squares machines."""
