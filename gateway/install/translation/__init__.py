"""Agents' own permission rules: read as each agent means them, turned into rules of ours, and back, with what is lost.

Start at `importing`. What stands in the files of an agent is read by its module (`claude`, `codex`, `gemini`,
`opencode`, `vscode`, `cursor`, `copilot`; `clients` is the registry) into `rules.Rule`, whose tests (`matching`) say
which calls it holds for, in that agent's own semantic, and which predicates of ours say no more (for allow) or no less
(for deny and ask). `deciding` combines rules as the agent does. `statements` writes them as ours, `engine` judges by
ours, `comparing` holds the two against each other and takes back what would be wider or narrower than it must be.
`auditing` says which rules do not do what they say; `exporting` is the way back.
"""
