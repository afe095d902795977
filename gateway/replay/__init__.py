"""Recorded decisions judged anew: under the policy that decided them, which must give the same again, and under any
other, which says what it would change.

`decisions` reads the record and counts equal decisions once; `sources` makes policies of folders, of revisions of git
and of what was kept; `judging` judges with recorded facts; `parts` spreads the work; `compare` counts what differs;
`symbolic` says what no record shows.
"""
