"""Parts for the programs of others: a synchronous engine, a tool, a node and a retriever."""
