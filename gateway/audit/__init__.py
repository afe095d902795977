"""The record: what was decided and what became of it, one JSON line each, chained so that a change shows.

Start at `log`; `calls` is a call whose record fails. Writing: `entries` (a line's content), `redact` and `secrets`,
`chain` (links and seal), `store` (files and locks), `recovery` (what killed writers left), `files`, `clock`,
`anchors` (heads that are kept elsewhere). Reading:
`reading`, `verify`, `index`, `refusals` (the last one, for `gateway why`).
"""
