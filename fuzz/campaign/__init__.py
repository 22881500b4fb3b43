"""A campaign: the choice of the next checks, its events, and the triage of its violations."""
