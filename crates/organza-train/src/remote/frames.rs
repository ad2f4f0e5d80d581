//! Messages over a pair of pipes: a byte that says what it is, the length, the message.

use super::messages::{Job, MessageError, Reply};
use super::worker::StepWorker;
use crate::application::Failure;
use crate::task::Task;
use std::io::{self, Read, Write};
use thiserror::Error;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// To a worker: what it needs once.
    Job = 1,
    /// To a worker: sum your part of this step.
    Order = 2,
    /// To a worker: the rows that it asked for.
    Rows = 3,
    /// To the driver: which rows.
    Asks = 4,
    /// To the driver: a part.
    Part = 5,
    /// To the driver: why it cannot go on.
    Failed = 6,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Job, Self::Order, Self::Rows, Self::Asks, Self::Part, Self::Failed];
}

/// Longer messages are none of ours.
const LONGEST: u64 = 1 << 36;
/// What is read at a time of a message whose length nobody vouches for.
const BLOCK: u64 = 1 << 20;

/// Writes a message.
pub(super) fn write_frame(to: &mut impl Write, kind: Kind, message: &[u8]) -> io::Result<()> {
    to.write_all(&[kind as u8])?;
    to.write_all(&(message.len() as u64).to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Reads a message; `None` at the end.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut kind = [0];
    match from.read_exact(&mut kind) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "this is not a message of a worker");
    let kind = Kind::ALL.into_iter().find(|known| *known as u8 == kind[0]).ok_or_else(wrong)?;
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Err(wrong());
    }
    let mut message = Vec::with_capacity(length.min(BLOCK) as usize);
    from.take(length).read_to_end(&mut message)?;
    if message.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, message)))
}

/// Why a worker ended before its driver did.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The pipes.
    #[error("the worker cannot talk to its driver: {0}")]
    Pipe(#[from] io::Error),
    /// A message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The task.
    #[error("the worker cannot read its units: {0}")]
    Task(Failure),
    /// No job, or a second one.
    #[error("the driver sent something other than an order")]
    NoOrder,
}

/// Works for the driver at the other end of `input` and `output` until that closes them. `read` gives the task of the
/// buckets of a job, and the names of its units.
///
/// # Privacy
/// `output` carries sums without noise, and nothing else may be written to it.
///
/// # Errors
/// If the task cannot be read, or the driver is of another version.
pub fn serve<T: Task, N: AsRef<[u8]>>(
    mut input: impl Read,
    mut output: impl Write,
    read: impl FnOnce(&Job) -> Result<(T, Vec<N>), Failure>,
) -> Result<(), WorkerError> {
    let (kind, job) = match read_frame(&mut input) {
        Ok(Some(job)) => job,
        Ok(None) => return Ok(()),
        // The driver was killed while it told its job.
        Err(error) if is_closed(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if kind != Kind::Job {
        return Err(WorkerError::NoOrder);
    }
    match answer_all(&mut input, &mut output, &job, read) {
        // The driver was killed: whoever takes its place starts workers of its own.
        Err(WorkerError::Pipe(error)) if is_closed(&error) => Ok(()),
        Err(error) => {
            write_frame(&mut output, Kind::Failed, error.to_string().as_bytes())?;
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof)
}

fn answer_all<T: Task, N: AsRef<[u8]>>(
    input: &mut impl Read,
    output: &mut impl Write,
    job: &[u8],
    read: impl FnOnce(&Job) -> Result<(T, Vec<N>), Failure>,
) -> Result<(), WorkerError> {
    let job = Job::from_bytes(job)?;
    let (task, names) = read(&job).map_err(WorkerError::Task)?;
    let mut worker = StepWorker::new(task, names, &job)?;
    while let Some((kind, message)) = read_frame(input)? {
        let reply = match kind {
            Kind::Order => worker.order(&message)?,
            Kind::Rows => worker.rows(&message)?,
            _ => return Err(WorkerError::NoOrder),
        };
        match reply {
            Reply::Asks(rows) => write_frame(output, Kind::Asks, &rows)?,
            Reply::Part(part) => write_frame(output, Kind::Part, &part)?,
        }
    }
    Ok(())
}
