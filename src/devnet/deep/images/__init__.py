"""Images: reading them, networks that score them, and maps of where the anomaly is."""
