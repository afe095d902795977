"""Rules, compiled and resolved. Pure.

Start at `resolve`. Compiled once: `compile` with `anchors` to `table` (`trie`, `globs`, `paths`, `hosts`,
`commandpattern`). For a call: `candidates` finds clauses, `predicates` and `commandtests` test them on a `subject`,
`modes` decides what no rule speaks of, `unparsed` takes the fallback tokens of a text that cannot be parsed,
`protected` asks for trees. For a confined call: `confine` (what was predicted), `path_protection` (what rules make of
names on the disk), `hostrules` (what they leave of the network), `variables` (of the environment). For people:
`explain`, `wording`, `change`, `always`, `lint/`.
"""
