"""Language models as the agent, the reviewer and readers of pages use them: the Messages API, and a scripted one."""
