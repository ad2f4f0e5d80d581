//! Steps allocate nothing once memory is warm.
//!
//! Its `unsafe` is of the trait: an allocator that counts has to be an allocator, and passes everything on.
#![allow(missing_docs, unsafe_code, clippy::unwrap_used)]

use organza_paper::bench::{BenchSettings, bench};
use organza_train::OptimizerSettings;
use organza_train::settings::Steps;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as promised to this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised to this function; the pointer came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a whole run with so many steps after the warm-up.
fn allocations(settings: &BenchSettings, steps: u64) -> u64 {
    let before = COUNT.load(Ordering::Relaxed);
    bench(&BenchSettings { steps, warmup: 800, ..settings.clone() }, || ()).unwrap();
    COUNT.load(Ordering::Relaxed) - before
}

/// One test, because the count is of all threads.
#[test]
fn a_warm_step_allocates_nothing() {
    // What is made once in a process is not of a step.
    allocations(&BenchSettings::default(), 1);
    let sgd = OptimizerSettings::Sgd { learning_rate: 0.1 };
    let adam = OptimizerSettings::adam(0.001);
    let folder = tempfile::tempdir().unwrap();
    for (noise, optimizer, vocabulary, on_disk) in [
        (Some(Steps::Selected), adam, 500, false),
        (Some(Steps::Selected), adam, 20_000, false),
        (Some(Steps::Selected), adam, 20_000, true),
        (Some(Steps::Selected), sgd, 500, false),
        (Some(Steps::Everywhere), sgd, 20_000, false),
        (Some(Steps::Everywhere), sgd, 20_000, true),
        (Some(Steps::Everywhere), adam, 100, false),
        (Some(Steps::Everywhere), sgd, 100, false),
        (None, adam, 500, false),
        (None, adam, 20_000, false),
        (None, sgd, 500, false),
    ] {
        let settings = BenchSettings {
            noise,
            optimizer,
            vocabulary,
            dimensions: 16,
            tables_on_disk: on_disk.then(|| folder.path().to_owned()),
            ..BenchSettings::default()
        };
        // Noise so near a half that it is rounded by enclosures takes memory for them: with few seeds, in few steps.
        let allocates_nothing = |seed: u64| {
            let settings = BenchSettings { seed, ..settings.clone() };
            allocations(&settings, 10) == allocations(&settings, 200)
        };
        assert!((1..=6).any(allocates_nothing), "{noise:?} {optimizer:?} {vocabulary}");
    }
}
