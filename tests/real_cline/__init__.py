"""Backstory beside the real Cline command line, which a scripted model on loopback drives."""
