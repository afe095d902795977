"""The gateway's own agent: a loop between a model and the guarded tools. `loop.Agent` is where to start."""
