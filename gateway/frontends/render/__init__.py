"""How a call looks to a person, from being asked for to what became of it. `Screen` is all that others need."""
