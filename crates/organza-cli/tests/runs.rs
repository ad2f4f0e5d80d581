//! Whole runs of the tool: what a person sees, what a program gets, and the exit code.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use insta::assert_snapshot;
use support::{Run, documented_events, organza};

#[test]
fn help_reads_well() {
    assert_snapshot!(organza("--help").show());
}

#[test]
fn short_help_fits_a_screen() {
    assert_snapshot!(organza("-h").show());
}

#[test]
fn help_of_event_check() {
    assert_snapshot!(organza("event check --help").show());
}

#[test]
fn help_of_train() {
    assert_snapshot!(organza("train --help").show());
}

#[test]
fn help_of_resume() {
    assert_snapshot!(organza("resume --help").show());
}

#[test]
fn help_of_completions() {
    assert_snapshot!(organza("completions --help").show());
}

#[test]
fn version_is_that_of_the_package() {
    let run = organza("--version");
    assert_eq!(run.stdout, concat!("organza ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(run.code, Some(0));
}

#[test]
fn no_command_is_wrong_usage() {
    let run = organza("");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("Usage: organza"));
}

#[test]
fn wrong_usage_is_told_apart_from_failure() {
    assert_snapshot!(organza("event chekc question.json").show());
    for line in ["--nope", "event check", "completions tcsh", "-q -v event check x", "--color x"] {
        let run = organza(line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{line}");
        assert!(run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
    }
}

#[test]
fn a_question_in_words() {
    assert_snapshot!(organza("event check question.json").show());
}

#[test]
fn every_kind_in_the_words_of_the_reference() {
    for (event, words) in documented_events() {
        let run = Run::new("event check -").input(event.as_bytes()).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.stdout, format!("standard input: a valid event\n\n{words}"), "{event}");
    }
}

#[test]
fn a_question_as_json() {
    assert_snapshot!(organza("--json event check question.json").show());
}

#[test]
fn the_normal_form_is_a_fixed_point() {
    let question = organza("--json event check question.json");
    let events = documented_events()
        .into_iter()
        .map(|(event, _)| Run::new("--json event check -").input(event.as_bytes()).run());
    for first in events.chain([question]) {
        let second = Run::new("--json event check -").input(first.stdout.as_bytes()).run();
        assert_eq!((second.code, &second.stdout), (Some(0), &first.stdout));
    }
}

#[test]
fn standard_input_has_a_name() {
    let event = b"{\"pure\": {\"epsilon\": 1e-9}}";
    assert_snapshot!(Run::new("event check -").input(event).run().show());
}

#[test]
fn a_question_without_an_end_is_noted_unless_quiet() {
    let question = b"{\"version\": 2, \"event\": {\"pure\": {\"epsilon\": 1}}}";
    let loud = Run::new("event check -").input(question).run();
    assert_snapshot!(loud.show());
    let quiet = Run::new("event check - --quiet").input(question).run();
    assert_eq!((quiet.stderr.as_str(), &quiet.stdout), ("", &loud.stdout));
}

#[test]
fn verbose_says_what_is_done_and_leaves_the_result_alone() {
    let plain = organza("event check question.json");
    let verbose = organza("event check question.json -v");
    assert_eq!(verbose.stdout, plain.stdout);
    assert!(verbose.stderr.contains("bytes from question.json"));
}

#[test]
fn an_unknown_kind_is_named_with_its_place() {
    assert_snapshot!(organza("event check unknown-kind.json").show());
}

#[test]
fn a_cut_file_is_an_error() {
    assert_snapshot!(organza("--json event check unclosed.json").show());
}

#[test]
fn a_parameter_out_of_range_is_an_error() {
    assert_snapshot!(organza("event check negative.json").show());
}

#[test]
fn a_misspelt_field_of_a_question_is_an_error() {
    let question = b"{\"version\": 2, \"event\": {\"pure\": {\"epsilon\": 1}},\n \"delat\": 1e-5}";
    assert_snapshot!(Run::new("event check -").input(question).run().show());
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let missing = organza("event check missing.json");
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
    assert!(missing.stderr.starts_with("error: cannot read missing.json: "));
    let binary = Run::new("event check -").input(b"{\"\xff\"").run();
    assert_eq!((binary.code, binary.stdout.as_str()), (Some(1), ""));
    assert!(binary.stderr.contains("byte 2 is not UTF-8"));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let deep = "{\"repeat\":{\"times\":1,\"event\":".repeat(100_000);
    let run = Run::new("event check -").input(deep.as_bytes()).run();
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("recursion limit"));
}

#[test]
fn color_follows_the_terminal_the_variable_and_the_flag() {
    let is_colored = |run: &Run| {
        let outcome = run.run();
        outcome.stdout.contains('\u{1b}') || outcome.stderr.contains('\u{1b}')
    };
    for line in ["event check question.json", "event check negative.json", "--help", "--nope"] {
        assert!(!is_colored(&Run::new(line)), "a pipe is no terminal: {line}");
        let always = format!("--color always {line}");
        assert!(is_colored(&Run::new(&always)), "the flag asks for color: {line}");
        let forced = Run::new(line).variable("CLICOLOR_FORCE", "1");
        assert!(is_colored(&forced), "the variable asks for color: {line}");
        let never = format!("--color never {line}");
        let refused = Run::new(&never).variable("CLICOLOR_FORCE", "1");
        assert!(!is_colored(&refused), "the flag wins over the variable: {line}");
        let no_color = Run::new(line).variable("CLICOLOR_FORCE", "1").variable("NO_COLOR", "1");
        assert!(!is_colored(&no_color), "NO_COLOR: {line}");
    }
    let json = organza("--color always --json event check question.json");
    assert!(!json.stdout.contains('\u{1b}'), "JSON is never colored");
}

#[test]
fn there_are_completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = organza(&format!("completions {shell}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(run.stdout.contains("organza") && run.stdout.contains("quiet"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    for line in ["completions bash", "--json completions bash", "event check question.json"] {
        let (code, stderr) = Run::new(line).run_with_closed_output();
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{line}");
    }
}
