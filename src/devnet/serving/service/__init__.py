"""A small HTTP service that scores rows as they come."""
