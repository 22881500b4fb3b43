"""A run for cron or for CI: what it is asked, what it remembers, and its phases around fuzzing."""
