"""evaluate metric modules for captioning, VQA and image-text retrieval. Importing this package imports nothing."""
