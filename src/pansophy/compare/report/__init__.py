"""A comparison in sentences, tables and figures.

sentences  `verdict`, `sentences`, `methodology`, with numbers from `formatting`
text       `terminal`, `notebook`
figures    `plots`, drawn from `plot_data`
page       `html`, put together from `sections`, `decisions`, `holdout_and_groups` and
           `exploration`, whose `elements` the templates lay out
"""
