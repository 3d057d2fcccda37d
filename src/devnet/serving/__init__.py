"""Models at work elsewhere: on clusters, as graphs, behind an address."""
