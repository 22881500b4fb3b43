"""What users hand over: passes, modules, settings, and the mistakes in them."""
