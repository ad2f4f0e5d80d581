"""What the package is made of, in Rust."""

__version__: str
