"""The LangGraph nodes, one in each file: read state, validate, call one port or pure function, return an update."""
