"""The analysts' page: a small web server, and who may use it."""
