"""The what-if page: a local server, its page, and the HTTP interface under it."""
