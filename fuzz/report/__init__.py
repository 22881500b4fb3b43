"""What a store tells, in the forms that people and machines read."""
