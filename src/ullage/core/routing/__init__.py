"""Which model a task should go to: what the prompt asks for, who could do it, at what price, and why."""
