"""The sandbox: files are parsed in confined child processes with limits on time and memory."""
