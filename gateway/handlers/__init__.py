"""What stands behind the tools, one small module for each family. Imported when a tool is first called."""
