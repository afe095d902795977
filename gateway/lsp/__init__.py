"""Language servers: started by policy's configuration, judged, confined and recorded like commands, spoken to in the
Language Server Protocol over two pipes. Nothing here is loaded before the first question to one."""
