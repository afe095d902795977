"""Bash text → simple commands, redirects, assignments and what was not understood. Pure: no look at the host.

    text ─ guards ─► regions (quotes, substitutions, here-documents) ─► skeleton ─► flat, or else grammar ─► nodes
         └──────────────── words, redirects, expansions, built-ins ◄──────────── walk, flow ◄──────────────────┘

Two readings have to agree. The grammar (tree-sitter, known to `parse` alone) sees only a skeleton: every quoted
text, substitution, here-document and comment is filled with dots or blanks, so that it decides about lists, pipes
and control flow and nothing else. What is inside a simple command is read again from the text itself by bash's
lexical rules; an operator that turns up there, or a substitution that nobody met, makes the text unknown.
"""
