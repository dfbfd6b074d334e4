//! Draws a session in the terminal and turns keys into commands.
