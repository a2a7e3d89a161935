"""What stands in a request, one module per dialect: a decoded slice to the nouns of `core.content`."""
