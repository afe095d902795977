"""What known programs do: one YAML description per program, and the engine that applies them to shell text. Pure.

Start at `analyse`. One command: `description` is what is known of a program, `invocation` one command of it; `grammar`
with `options` takes its words apart, `apply` turns them into effects, `special/` is called where YAML ends, `additions`
adds what layers' descriptions say. Handing on: `inputs` (xargs, `find -exec`), `remote` (ssh, containers). Several
commands: `pipes` (what flows where), `printed` (what a command prints) with `name_tests`, `crossing` (written then run,
fetched then run, unpacked then used, read then sent). With the facts: `settle`, `questions` with `steering_files`
(programs that obey the project's files, see `gateway.commands.steering`), `nested` (repositories inside).
"""
