"""What a program is: types, arrays, primitives, traces, programs. Imports nothing of pullback outside itself."""
