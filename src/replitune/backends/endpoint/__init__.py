"""`backend: endpoint`: a language model behind a server that speaks OpenAI's chat protocol."""
