"""Agents as clients of the memory server: their settings entry and their rule, put there and taken back."""
