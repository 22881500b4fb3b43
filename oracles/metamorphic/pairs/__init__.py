"""Pairs of computations that must agree, whatever they compute: no reference is needed."""
