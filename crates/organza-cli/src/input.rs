//! Text from a file or from standard input, with the name under which errors speak of it.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};
use thiserror::Error;

/// A text and where it came from.
#[derive(Debug)]
pub(crate) struct Input {
    /// The file as the user named it, or `standard input`.
    pub(crate) name: String,
    /// All of the text.
    pub(crate) text: String,
}

/// Why there is no text.
#[derive(Debug, Error)]
pub(crate) enum InputError {
    /// The system refused.
    #[error("cannot read {name}")]
    Unreadable {
        /// Where it was to come from.
        name: String,
        /// The reason of the system.
        source: io::Error,
    },
    /// The bytes are not text.
    #[error(
        "{name} is not text: byte {offset} is not UTF-8\n\
         help: save the file as UTF-8, and check that it is the one you meant"
    )]
    NotText {
        /// Where it came from.
        name: String,
        /// How many bytes before it are good.
        offset: usize,
    },
}

impl Input {
    /// Reads the file at `path`, or standard input where `path` is `-`.
    pub(crate) fn read(path: &Path) -> Result<Self, InputError> {
        let (name, bytes) = if path == Path::new("-") {
            let mut bytes = Vec::new();
            let outcome = io::stdin().lock().read_to_end(&mut bytes);
            ("standard input".to_owned(), outcome.map(|_| bytes))
        } else {
            (path.display().to_string(), fs::read(path))
        };
        match bytes {
            Err(source) => Err(InputError::Unreadable { name, source }),
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Self { name, text }),
                Err(error) => {
                    Err(InputError::NotText { name, offset: error.utf8_error().valid_up_to() })
                }
            },
        }
    }
}
