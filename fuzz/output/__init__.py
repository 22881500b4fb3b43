"""Text for terminals and test reports."""
