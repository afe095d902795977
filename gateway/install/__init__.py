"""What `gateway init` writes into the settings of agents, and how it is taken out again."""
