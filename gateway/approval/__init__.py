"""Who is asked where policy asks, and what becomes of the answer.

Start at `asking`. The question: `base` (what may be answered), `always_rule` (the rule for "always", tried before it is
shown), `confusable`. Who answers: `console`, `callback`, `refuse`. What stays: `digests` (what a grant is bound to),
`grants` (a session's), `saved_rules` (the file of the local layer).
"""
