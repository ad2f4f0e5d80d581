//! Steps by workers: the same bits whoever computes gradients and whoever is killed, and nothing charged or counted twice.
//!
//! This program is driver and worker as well, by its first argument.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]
#![allow(unreachable_pub, reason = "a test crate has no outside")]

mod holders;
mod killed;
mod refused;
mod same;
mod task;

use organza_train::remote::serve;
use std::path::Path;
use std::process::Command;
use task::Method;

/// Runs this program as something else.
fn this_program(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments);
    command
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["worker", method] => {
            let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
            serve(input, output, |_| Ok(Method::of(method).shard(1.0))).unwrap();
        }
        ["driver", method, path] => {
            killed::drive(Method::of(method), Path::new(path));
        }
        _ => {
            let tests: [(&str, fn()); 16] = [
                ("any_number_of_workers_gives_the_same_bits", same::any_number_of_workers),
                ("any_number_of_processes_gives_the_same_bits", same::any_number_of_processes),
                ("any_number_of_holders_gives_the_same_bits", holders::any_number_of_holders),
                ("a_lost_holder_changes_nothing", holders::lost_holders),
                ("a_step_that_was_lost_is_made_again", holders::lost_in_the_middle),
                ("rows_of_holders_that_were_read_stay_read", holders::rows_that_were_read),
                ("no_step_is_made_of_two_states", holders::parts_of_two_states),
                ("holders_refuse_what_is_not_theirs", holders::what_holders_refuse),
                ("workers_draw_what_is_theirs_alone", same::another_key_gives_other_bits),
                ("killed_workers_change_nothing", killed::killed_workers),
                ("a_killed_driver_goes_on", killed::killed_driver),
                ("late_and_double_parts_change_nothing", refused::late_and_double_parts),
                ("a_step_is_made_again_of_the_same_sum_alone", refused::another_sum),
                ("rows_that_were_read_stay_read", refused::rows_that_were_read),
                ("one_driver_at_a_time", refused::two_drivers),
                ("a_run_needs_what_a_driver_can_know", refused::settings),
            ];
            let wanted =
                |name: &str| words.iter().all(|word| word.starts_with('-') || name.contains(word));
            for (name, test) in tests.into_iter().filter(|(name, _)| wanted(name)) {
                test();
                eprintln!("test {name} ... ok");
            }
        }
    }
}
