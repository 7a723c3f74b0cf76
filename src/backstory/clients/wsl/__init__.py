"""Clients inside distributions of WSL, registered from the Windows host."""
