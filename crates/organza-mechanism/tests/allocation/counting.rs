//! An allocator that counts what each thread asks it for.
#![allow(
    unsafe_code,
    reason = "the trait of allocators is unsafe; everything is passed on as it came"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with a count.
pub struct Counting;

// SAFETY: each call is the system's own, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count() {
    // A thread that ends has no count any more, and needs none.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

/// How often `work` asked for memory on this thread.
pub fn allocations(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}
