"""What clauses speak of, as sets that can be compared exactly. `regions.uncovered` is where to start.

`languages` are texts as small automata, `patterns` builds them from what policies write, `sets` are the other values,
`regions` are products of both, one dimension for each thing that a predicate tests, and `clauses` reads predicates as
regions. Dimensions count as independent and every unknown as possible, so that a region holds all that the engine
would match and perhaps more of what narrows it: that one clause holds wherever another does is never claimed wrongly,
and a call that is to show a difference is asked of the engine before anybody sees it.
"""
