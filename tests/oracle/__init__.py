"""The kernel as the judge: what commands really do, in a cage, was predicted by the analysis."""
