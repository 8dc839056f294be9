package interchange

// LangChainRoles are LangChain's words for who says something.
var LangChainRoles = map[string]string{"human": "user", "ai": "assistant", "HumanMessageChunk": "user", "AIMessageChunk": "assistant", "function": "tool"}
