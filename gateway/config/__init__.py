"""From files on disk to a judge's inputs: layers of policy, trust, tools and descriptions that layers bring, and
compiled forms."""
