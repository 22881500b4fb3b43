"""A campaign: what is checked next, what has happened, and the triage of what was found."""
