"""The stories, one module a project; each yields its sessions."""
