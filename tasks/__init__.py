"""What the flows are made of: sources, frames, eight stages, outputs and the audit."""
