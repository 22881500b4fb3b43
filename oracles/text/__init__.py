"""What people read: printed modules, exhibits, and the snippets that reproducers are made of."""
