"""Texts for people: printed modules, exhibits, and the snippets that reproducers are made of."""
