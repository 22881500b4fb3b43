"""`check_pass`, for users' own property-based tests."""
