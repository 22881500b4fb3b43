"""A nightly run: its settings, its state, and its phases around fuzzing."""
