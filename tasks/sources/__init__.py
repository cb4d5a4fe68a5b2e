"""Files in, frames out: each source reads what people and tools wrote, and says what was odd about it."""
