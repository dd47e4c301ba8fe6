"""A network that has learnt from made-up tables how to predict on a new one.

- `cells`: the numbers that the network reads of a column: clipped, ranked, waved
- `targets`: how classes and numbers are told to the network and read from it
- `network`: the forward pass, written once for NumPy arrays and torch tensors
- `operations`: the operations of the pass, by kind of array
- `pretrained`: the weights of the package
- `members`: a table read by several members, whose answers are averaged
- `prior`, `training`: the made-up tables, and the training on them (torch)

The estimators are `neural_network.PretrainedTableClassifier` and
`PretrainedTableRegressor`.
"""
