"""The workflow: which node follows which, where its state is kept, and how a run is started."""
