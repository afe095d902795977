"""Tool handlers, one small module for each family of tools. Imported when a tool is first called."""
