"""What could be added to a request: pins, memory and references to artifacts; how text is cut to fit."""
