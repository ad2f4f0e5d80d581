//! Workers as processes of this machine, over their standard input and output.

use super::buckets_of;
use super::driver::StepDriver;
use super::error::RemoteError;
use super::frames::{Kind, read_frame, write_frame};
use crate::application::Application;
use std::io::{self, BufWriter};
use std::ops::Range;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A worker that ends so often, without a part in between, will not do better.
const MOST_STARTS: usize = 5;

/// Processes that compute gradients for a driver. One that ends is started again, and its part computed again.
///
/// # Privacy
/// Jobs go through a pipe, so that keys stand in no command line and no environment. Whoever may look into the memory of
/// this user's processes sees everything, as in any run.
pub struct LocalWorkers {
    start: Box<dyn FnMut(usize) -> Command>,
    workers: Vec<Worker>,
    replies: Receiver<(usize, usize, Event)>,
    sender: Sender<(usize, usize, Event)>,
    traffic: StepTraffic,
}

/// How many bytes went between driver and workers, and what went wrong on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTraffic {
    /// Steps that were made.
    pub steps: u64,
    /// Bytes to workers: orders and rows. Jobs are not counted.
    pub to_workers: u64,
    /// Bytes to the driver: which rows, and parts.
    pub to_driver: u64,
    /// Workers that had to be started again.
    pub restarts: u64,
    /// Messages that came late or twice, and were left out.
    pub left_out: u64,
}

struct Worker {
    buckets: Range<u16>,
    /// Tells what the processes of one worker say apart.
    life: usize,
    /// Starts since its last part.
    starts: usize,
    process: Option<(Child, BufWriter<ChildStdin>)>,
}

enum Event {
    Message(Kind, Vec<u8>),
    Ended,
}

impl LocalWorkers {
    /// `count` workers, each started by the command that `start` gives for its number. The command is to
    /// [`serve`](super::serve) its standard input and output.
    pub fn new(count: usize, start: impl FnMut(usize) -> Command + 'static) -> Self {
        let (sender, replies) = channel();
        let worker = |number| {
            let buckets = buckets_of(number, count);
            Worker { buckets, life: 0, starts: 0, process: None }
        };
        let workers = (0..count.max(1)).map(worker).filter(|worker| !worker.buckets.is_empty());
        let (workers, start) = (workers.collect(), Box::new(start));
        Self { start, workers, replies, sender, traffic: StepTraffic::default() }
    }

    /// What went between driver and workers so far.
    pub fn traffic(&self) -> StepTraffic {
        self.traffic
    }

    /// The process identifiers of the workers that run.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.workers
            .iter()
            .filter_map(|worker| worker.process.as_ref())
            .map(|(child, _)| child.id())
    }

    /// Makes the next step of a driver; false if all are made.
    ///
    /// # Errors
    /// If the driver cannot make it, a worker cannot go on or is of another version, or ends again and again. All workers are
    /// ended then, as some may be at a step that will not be made; the next call starts them again.
    pub fn step<A: Application>(
        &mut self,
        driver: &mut StepDriver<A>,
    ) -> Result<bool, RemoteError> {
        let made = self.try_step(driver);
        if made.is_err() {
            (0..self.workers.len()).for_each(|number| self.end(number));
        }
        made
    }

    fn try_step<A: Application>(
        &mut self,
        driver: &mut StepDriver<A>,
    ) -> Result<bool, RemoteError> {
        let Some(order) = driver.order()? else { return Ok(false) };
        for number in 0..self.workers.len() {
            self.order(driver, number, &order)?;
        }
        while !driver.missing().is_empty() {
            let (number, life, event) = self.reply()?;
            if self.workers[number].life != life {
                continue;
            }
            match event {
                Event::Message(Kind::Asks, asks) => {
                    self.traffic.to_driver += asks.len() as u64;
                    match driver.rows(&asks) {
                        Ok(rows) => self.tell(driver, number, Kind::Rows, &rows, &order)?,
                        Err(RemoteError::Message(late)) if late.is_late() => {
                            self.traffic.left_out += 1;
                        }
                        Err(error) => return Err(of_worker(number, error)),
                    }
                }
                Event::Message(Kind::Part, part) => {
                    self.traffic.to_driver += part.len() as u64;
                    match driver.add(&part) {
                        Ok(_) => self.workers[number].starts = 0,
                        Err(RemoteError::Message(late)) if late.is_late() => {
                            self.traffic.left_out += 1;
                        }
                        Err(error) => return Err(of_worker(number, error)),
                    }
                }
                Event::Message(Kind::Failed, reason) => {
                    let reason = String::from_utf8_lossy(&reason).into_owned();
                    return Err(RemoteError::Worker { worker: number, reason });
                }
                Event::Message(..) | Event::Ended => {
                    self.end(number);
                    self.order(driver, number, &order)?;
                }
            }
        }
        driver.make()?;
        self.traffic.steps += 1;
        Ok(true)
    }

    fn reply(&self) -> Result<(usize, usize, Event), RemoteError> {
        // This holds a sender itself, so that there is always one.
        self.replies.recv().map_err(|_| RemoteError::NotOrdered)
    }

    /// Gives a worker the order, and starts it before if it does not run.
    fn order<A: Application>(
        &mut self,
        driver: &StepDriver<A>,
        number: usize,
        order: &[u8],
    ) -> Result<(), RemoteError> {
        loop {
            if self.workers[number].process.is_none() {
                self.start(number, &driver.job(self.workers[number].buckets.clone()).to_bytes())?;
            }
            match self.write(number, Kind::Order, order) {
                Ok(()) => return Ok(()),
                Err(_) => self.end(number),
            }
        }
    }

    fn tell<A: Application>(
        &mut self,
        driver: &StepDriver<A>,
        number: usize,
        kind: Kind,
        message: &[u8],
        order: &[u8],
    ) -> Result<(), RemoteError> {
        match self.write(number, kind, message) {
            Ok(()) => Ok(()),
            Err(_) => {
                self.end(number);
                self.order(driver, number, order)
            }
        }
    }

    fn write(&mut self, number: usize, kind: Kind, message: &[u8]) -> io::Result<()> {
        let Some((_, input)) = &mut self.workers[number].process else { return Ok(()) };
        write_frame(input, kind, message)?;
        self.traffic.to_workers += message.len() as u64;
        Ok(())
    }

    fn start(&mut self, number: usize, job: &[u8]) -> Result<(), RemoteError> {
        let worker = &mut self.workers[number];
        let failed = |reason: String| RemoteError::Worker { worker: number, reason };
        if worker.starts >= MOST_STARTS {
            return Err(failed(format!("it ended {MOST_STARTS} times before its part was done")));
        }
        self.traffic.restarts += u64::from(worker.life > 0);
        worker.life += 1;
        worker.starts += 1;
        let mut command = (self.start)(number);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| failed(format!("it cannot be started: {error}")))?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes".to_owned()));
        };
        let (sender, life) = (self.sender.clone(), worker.life);
        std::thread::spawn(move || {
            while let Ok(Some((kind, message))) = read_frame(&mut output) {
                if sender.send((number, life, Event::Message(kind, message))).is_err() {
                    return;
                }
            }
            // Nobody listens any more if this fails.
            sender.send((number, life, Event::Ended)).ok();
        });
        let mut input = BufWriter::new(input);
        // A worker that is gone already is noticed by the order that follows.
        write_frame(&mut input, Kind::Job, job).ok();
        worker.process = Some((child, input));
        Ok(())
    }

    /// Ends a worker, if it has not ended by itself.
    fn end(&mut self, number: usize) {
        if let Some((mut child, input)) = self.workers[number].process.take() {
            child.kill().ok();
            // What is left in its buffer goes to nobody.
            drop(input);
            child.wait().ok();
        }
    }
}

/// What is wrong with a message, and whose it is.
fn of_worker(worker: usize, error: RemoteError) -> RemoteError {
    match error {
        RemoteError::Message(message) => {
            RemoteError::Worker { worker, reason: message.to_string() }
        }
        other => other,
    }
}

impl Drop for LocalWorkers {
    fn drop(&mut self) {
        (0..self.workers.len()).for_each(|number| self.end(number));
    }
}

impl std::fmt::Debug for LocalWorkers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "LocalWorkers({})", self.workers.len())
    }
}
