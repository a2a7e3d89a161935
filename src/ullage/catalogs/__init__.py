"""What others publish of models, windows and prices above all: kept on disk, refreshed in the background, never waited for."""
