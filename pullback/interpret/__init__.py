"""One file per transformation: evaluate, stage, jvp, linearize, transpose, vmap."""
