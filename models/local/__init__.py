"""Language models in GGUF files, run by llama.cpp in a child process on this machine (contract R4-2)."""
