//! What a tool is: typed input, the actions it needs approved, its output, the registry.
