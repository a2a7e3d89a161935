"""What comes back from a model, one module per dialect: events and bodies to usage, stop reason and tool calls."""
