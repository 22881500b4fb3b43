"""Passes on functions of Relax and on calls of them, with one mistake each."""

from __future__ import annotations
