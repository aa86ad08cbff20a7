"""One LangGraph node a file: read state, validate, call one port or one pure function, return an update."""
