//! Renyi divergences: cheap, loose, and good for a second opinion.
