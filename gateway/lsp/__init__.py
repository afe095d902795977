"""Language servers: started by policy's configuration, judged, confined and recorded like commands, spoken to in the
Language Server Protocol over two pipes. Nothing here is loaded before the first question to one.

Start at `server_pool`. One server: `server` to `client` with `frames`; what it is told, `documents` and `sources`; what
it asks, `answers`. A question: `operations` (what is asked), `visible` (what of the answer may be seen), `positions`,
`uris`, `file_types`, `capabilities`. An edit: `edits` to `problems`.
"""
