"""How programs run: the compiler and its buffers, lowering, and where each operation executes."""
