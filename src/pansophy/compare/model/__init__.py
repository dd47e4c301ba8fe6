"""The model that a comparison keeps, and what is done with it.

`kept_model` fits it and `table_model` predicts for new tables; `refit` fits it on
tables larger than memory. `training_reference` compares new rows with the training
rows, `shapley` explains predictions, and `prediction_table`, `streaming` and
`table_writers` write predictions to tables of any size.
"""
