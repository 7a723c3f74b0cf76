"""The review app: pages over the archive, served on this machine alone."""
