"""`check_pass`, for property-based tests of one's own."""
