"""Pages of the three consoles: thin doors to the same services and selectors as the API."""
