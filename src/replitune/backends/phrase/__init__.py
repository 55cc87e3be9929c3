"""The embedded phrase-based system: training, model files, decoding."""
