"""Steps from samples: SGD and its kin, schedules, mistake-driven updates."""
