"""Configuration that programs obey: files of a project or a person that say what a program runs, and where it reads,
writes or sends. Each is read with its program's own grammar; keys are on a list of those that start nothing, and what
is not listed or not understood counts as saying anything. Pure: texts come in, and who looks at the host is
`gateway.host` before a decision and `gateway.sandbox` around a call.

Start at `programs`: one table of all programs but git, with the names of their files, the grammar and the list of
keys. Grammars, each of which gives `entries`: `toml_files`, `ini_files`, `json_files`, `yaml_files`, `npmrc`, `lines`.
Lists: `key_lists`, read by `keys`. What takes more than a list: `tool_chains` of Rust and Go, `version_managers`.
git: `git_config` is its grammar, `git_keys` what its settings start.
"""
