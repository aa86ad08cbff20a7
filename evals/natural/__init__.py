"""Natural questions over real, mixed files: what a user of the product meets."""
