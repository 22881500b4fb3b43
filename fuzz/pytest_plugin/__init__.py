"""The pytest plugin; loading it imports neither TVM nor Hypothesis."""
