"""The policy in frameworks that people build agents with: one module for each, which needs that framework alone.

| module | framework | its extra |
| --- | --- | --- |
| `gateway.adapters.claude_agent` | claude-agent-sdk: hooks and `can_use_tool` | `claude-agent` |
| `gateway.adapters.langchain` | langchain 1.x and langgraph: a middleware, tools, `ToolNode` | `langchain` |
| `gateway.adapters.openai_agents` | openai-agents: function tools | `openai-agents` |
| `gateway.adapters.pydantic_ai` | pydantic-ai: a toolset | `pydantic-ai` |
| `gateway.adapters.adk` | google-adk: a plugin | `adk` |
| `gateway.adapters.smolagents` | smolagents: tools | `smolagents` |

What they have in common is `gateway.api.guarding`: an adapter turns a framework's call into an `Asked` and what became
of it back, and asks in the framework's own way. The one for claude-agent-sdk stands on `gateway.hooks`.
"""
