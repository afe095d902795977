"""The reference of policy files: what every word means, with examples that the tests run.

`page.page` writes `docs/rules.md` from it, `lookup` answers `gateway policy help WORD`.
"""
