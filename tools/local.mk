# The tools: each one source beside the shared command-line code.
