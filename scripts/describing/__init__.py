"""Descriptions of programs from machine-readable sources: which words there are comes from the source, what they do
from tables in these modules that a person can check."""
