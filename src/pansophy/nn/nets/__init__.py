"""Whole nets with named losses: perceptrons, convolutions, sequences, tables, ODEs.

`heads` turns outputs into losses and predictions; `compiled_mlp` runs small perceptrons
in compiled loops.
"""
