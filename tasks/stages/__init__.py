"""The eight stages, one module each, pure: a Batch and settings in, a Batch out."""
