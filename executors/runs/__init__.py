"""The kinds of runs: each is a tuple of steps, which a small runner goes through."""
