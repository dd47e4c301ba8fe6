"""Steps in environments: how they are collected, valued and judged.

`rollout` plays one environment, `gather` many copies at once; `returns` sums rewards;
`evaluation` and `agent_comparison` judge agents with intervals. The other modules say
what an environment must do and make its copies.
"""
