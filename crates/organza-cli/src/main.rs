//! The `organza` command line tool.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    organza_cli::main(std::env::args_os()).into()
}
