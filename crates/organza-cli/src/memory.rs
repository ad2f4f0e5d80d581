//! How much memory this process took, and how much there is.

/// The most memory in megabytes that this process has held, where the system says so.
pub(crate) fn peak_megabytes() -> Option<f64> {
    megabytes("/proc/self/status", "VmHWM:")
}

/// The memory in megabytes that this process holds now without pages of files, which the system takes back when others need
/// memory.
pub(crate) fn own_megabytes() -> Option<f64> {
    megabytes("/proc/self/status", "RssAnon:")
}

/// The memory in megabytes that a process can still have.
pub(crate) fn free_megabytes() -> Option<f64> {
    megabytes("/proc/meminfo", "MemAvailable:")
}

fn megabytes(path: &str, name: &str) -> Option<f64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}
