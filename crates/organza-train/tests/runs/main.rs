//! Whole runs of the engine, in one program: each more would be linked with everything once more.

mod application;
mod early_stopping;
mod on_disk;
mod outside;
mod resumed;
