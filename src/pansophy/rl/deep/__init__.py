"""Neural agents: policy gradients (PPO, A2C, REINFORCE) and values (DQN, SAC, TD3).

`abstract_agent` is what they share, `training` their driver. `actor_critic` and its net
are under the policy gradients, `off_policy` and `replay` under the others; `small_nets`
predicts without torch.
"""
