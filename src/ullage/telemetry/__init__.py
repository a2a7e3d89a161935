"""What others may watch the daemon by: figures for Prometheus, a line for each request, traces and metrics of OpenTelemetry.

All of it is made of the facts of calls that are over, which hold no content, in the observer's thread: no relay waits for it.
"""
