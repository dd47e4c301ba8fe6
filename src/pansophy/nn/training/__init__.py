"""The training loop and its options.

`train` drives every net by `gradient_step`; `optimisers`, `schedules`, `stopping` and
`weight_average` are its parts, `batches`, `data_sources` and `prefetch` bring the rows,
`checkpoint` keeps and resumes, `devices` and `parallel` say where. `abstract_training`
holds the parameters that neural estimators share; `fine_tuning`, `lora` and
`weight_sharing` change what is trained.
"""
