"""What a terminal shows; the only place that prints."""
