"""What `gateway init` writes into the settings of agents, and how it is taken out again.

Start at `planning`. One file: `jsonc` and `toml` change it in place, `pieces` says what is ours in it, `own_hooks`
knows our hooks by their command lines. The disk: `files`, `receipts` (what was put in), `apart` (whether an
installation may guard). Agents: `claude`, `codex` (with `codextrust`), `gemini`, `copilot`, `cursor`, `opencode`. The
agents' own rules as a second net: `exported_rules`, `exported_files`. Looking: `detection`, `canary`,
`repository` (what a project brings), `live` with `scripted_model` (an agent that is run once).
"""
