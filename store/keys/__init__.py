"""The API keys of the server."""
