//! What would break privacy does not compile.

#[test]
fn what_would_break_privacy_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
