"""What assistants may ask: the questions of a project as tools of the Model Context Protocol, each with its proof."""
