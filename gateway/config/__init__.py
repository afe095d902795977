"""Files on disk to what judges: layers of policy, trust, what layers bring besides, and compiled forms of it all."""
