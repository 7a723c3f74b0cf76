"""What a step and a session say in words, and what edits came to; terminal and app draw it."""
