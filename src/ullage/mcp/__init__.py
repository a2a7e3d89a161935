"""The MCP server: what an agent can look up of its own past, and ask to be kept. Built on the official SDK (extra `mcp`).

The tools are plain functions over the store and the files of one project; `server` alone knows the protocol, so that the same
server can be mounted elsewhere.
"""
