"""Makes trees of sessions in the exact layout that Cline 3.0.65 writes, with the totals they hold."""
