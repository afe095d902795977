"""A page on this machine where a person sees, answers and takes back: `gateway console`.

Start at `app` (which address answers what) and `guard` (who is answered at all). A page is a function in `pages/` from
what was looked up to `nodes`; `nodes` makes HTML of it for programs such as `curl`, and data that `static/elements.js`
makes elements from: no text of a call is ever read as HTML. `tokens`: who may read and who may answer;
`question_queue`: the questions that wait; `live`: the record as it grows; `process`: what listens; `remote/`: answers
from elsewhere. What only the front ends know how to find out comes in through `sources`.
"""
