"""The gateway's own agent: a loop between a model and the guarded tools.

Start at `loop.Agent`. What is kept: `transcript`, `sessions` (where). A run: `structured_answer` (a final answer that
must be data), `repeat_keys` (what is made again after an unknown end). Others: `types` (kinds of agents, `kinds/`),
`children` (running ones), `mailbox`. Instead of a person: `reviewer`.
"""
