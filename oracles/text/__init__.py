"""Texts for people: printed modules, exhibits, and the snippets that make up reproducers."""
