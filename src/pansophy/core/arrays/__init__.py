"""What holds rows: arrays of any library, blocks, sequences, labels and weights.

`arrays` tells libraries and devices apart, `rows` sums over blocks of rows wherever
they are, `ragged` holds sequences of unlike length, `frames` dataframes. `labels` and
`codes` turn classes and values into numbers, `weighted` and `class_weight` are about
weights, `overflow` refuses what would exceed the largest float.
"""
