"""Pages of the web and searches in it: where a request may go, what came back, and what of it a model is shown.

`fetch` follows one address, each step judged by `reach`; `body` makes text of bytes, `html_markdown` Markdown of HTML
in a process of its own, and `hiding` and `css_values` what of it nobody would see; `store` keeps pages for a while;
`extract` has a small model answer from one; `providers` and `domains` are for searches.
"""
