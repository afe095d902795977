"""The frozen values that all packages speak in: calls, effects, facts, verdicts, plans, results. Pure.

Start at `effect`, then `verdict`. Asked: `call`, `tool`, `context`. Found out: `analysis`, `command`, `facts`. Decided:
`rule`, `decision`, `verdict`. Run: `plan`, `limits`, `result`, `record`.
"""
