//! Numbers in a file that are read and written as if they were in memory: tables that are larger than it.
//!
//! - [`Mapped`] is the file. The system fetches a page of it when it is first touched and writes it back when it likes, so
//!   that what is touched often stays in memory, and the rest takes none.
//! - [`Ahead`] asks for pages before they are touched, all at once: whoever touches one after another waits for each.
//!
//! `map.rs` is the one module of the libraries with `unsafe`, and says there why it is sound.
//!
//! # Privacy
//! What is in the file may be private for as long as it is written to. It has a name that nobody knows in a folder of
//! the caller's choice, nobody but its owner may read it, and it is removed when it is dropped, unless it is
//! [kept](Mapped::keep). A process that is killed leaves it behind, under a name that begins with [`UNFINISHED`]; the
//! next that makes one in the folder removes it.
#![deny(unsafe_code)]

mod ahead;
mod file;
mod map;

pub use ahead::Ahead;
pub use file::{Mapped, UNFINISHED};
