//! Whole runs of `organza recommender`, `recommend` and `similar`.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use std::fmt::Write;
use std::fs;
use support::{Run, done, organza_in};
use tempfile::tempdir;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_synthetic_shop_recommends_what_goes_together() {
    let place = tempdir().unwrap();
    let made = done(place.path(), "recommender --out shop --epsilon 3");
    for said in [
        "epsilon 2.99",
        "Recall@20",
        "by popularity",
        "not private",
        "Next: organza recommend shop",
    ] {
        assert!(made.stdout.contains(said), "{said}: {}", made.stdout);
    }
    let run = place.path().join("shop");
    for file in
        ["model.safetensors", "items.txt", "certificate.json", "ledger.jsonl", "report.html"]
    {
        assert!(run.join(file).exists(), "{file}");
    }
    assert!(!run.join("private").exists());
    let certificate = json(&fs::read_to_string(run.join("certificate.json")).unwrap());
    assert_eq!(
        (certificate["unit"].as_str(), certificate["private"].as_bool()),
        (Some("user"), Some(true))
    );
    assert!(certificate["epsilon"].as_f64().unwrap() <= 3.0);
    // Who buys a tent and a map is a hiker: what hikers buy is sold to eight kinds of customers.
    let next = done(place.path(), "recommend shop tent map --top 5 --json");
    let outdoors = [
        "sleeping bag",
        "hiking boots",
        "rucksack",
        "head torch",
        "camping stove",
        "compass",
        "water bottle",
        "rain jacket",
    ];
    for it in json(&next.stdout).as_array().unwrap() {
        assert!(outdoors.contains(&it["item"].as_str().unwrap()), "{}", next.stdout);
        assert!(it["because"].as_array().unwrap().len() <= 2);
    }
    let shown = done(place.path(), "recommend shop tent map --top 3");
    assert!(shown.stdout.contains("because of"), "{}", shown.stdout);
    let alike = done(place.path(), "similar shop trowel --top 3");
    let garden = [
        "flower pots",
        "tulip bulbs",
        "compost",
        "watering can",
        "rose bush",
        "secateurs",
        "gardening gloves",
        "bird feeder",
        "lawn seed",
    ];
    let of_garden = |line: &&str| garden.iter().any(|item| line.ends_with(item));
    assert_eq!(alike.stdout.lines().filter(of_garden).count(), 3, "{}", alike.stdout);
    let unknown = organza_in(place.path(), "similar shop tents");
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("did you mean `tent`?"), "{}", unknown.stderr);
    done(place.path(), "report shop");
}

/// Every method makes a whole run, and what is not private says so everywhere.
#[test]
fn other_methods_make_whole_runs() {
    let place = tempdir().unwrap();
    for method in ["popularity", "covariance", "als", "dpsgd", "ease", "low-rank"] {
        let private = !["ease", "low-rank"].contains(&method);
        let budget = if private { "--epsilon 8" } else { "" };
        let line = format!("recommender --method {method} --out {method} {budget}");
        let made = done(place.path(), &line);
        let run = place.path().join(method);
        let certificate = json(&fs::read_to_string(run.join("certificate.json")).unwrap());
        assert_eq!(certificate["method"], method);
        assert_eq!(certificate["private"], private, "{method}");
        assert_eq!(certificate["epsilon"].as_f64().is_some_and(|it| it <= 8.0), private);
        let page = fs::read_to_string(run.join("report.html")).unwrap();
        assert!(page.contains(&format!("By method {method}")) && page.contains("picker-model"));
        assert_eq!(made.stderr.contains("NOT private"), !private, "{}", made.stderr);
        assert_eq!(made.stdout.contains("there is no guarantee"), !private, "{}", made.stdout);
        let next = done(place.path(), &format!("recommend {method} tent map --top 5 --json"));
        let hiking = ["sleeping bag", "hiking boots", "rucksack", "head torch", "camping stove"];
        let found = hiking.iter().filter(|item| next.stdout.contains(**item)).count();
        assert_eq!(json(&next.stdout).as_array().unwrap().len(), 5);
        assert!(found > 0 || method == "popularity", "{method}: {}", next.stdout);
        let alike = done(place.path(), &format!("similar {method} trowel --top 3"));
        let lines = if method == "popularity" { 0 } else { 3 };
        assert_eq!(alike.stdout.lines().count(), lines, "{method}: {}", alike.stdout);
    }
    let refused = organza_in(place.path(), "recommender --method ease --epsilon 1 --out x");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("which is not private"), "{}", refused.stderr);
    let refused =
        organza_in(place.path(), "recommender --method dpsgd --noise-multiplier 1 --out x");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("left out for --method dpsgd"), "{}", refused.stderr);
    assert!(!place.path().join("x").exists());
}

#[test]
fn histories_are_answered_line_by_line() {
    let place = tempdir().unwrap();
    done(place.path(), "recommender --out shop --epsilon 3");
    let text = "[\"tent\", \"map\"]\n[]\n[\"nothing like it\", 7]\n[\"saw\", \"saw\"]\n";
    fs::write(place.path().join("histories.jsonl"), text).unwrap();
    let answers = done(place.path(), "recommend shop --histories histories.jsonl --top 20 --json");
    let piped = Run::new("recommend shop --histories - --top 20 --json").in_folder(place.path());
    assert_eq!(piped.input(text.as_bytes()).run().stdout, answers.stdout);
    let lines: Vec<Value> = answers.stdout.lines().map(json).collect();
    assert_eq!(lines.len(), 4);
    for (line, own) in lines.iter().zip([&["tent", "map"][..], &[], &[], &["saw"]]) {
        let pairs = line.as_array().unwrap();
        assert_eq!(pairs.len(), 20);
        assert!(pairs.iter().all(|pair| !own.contains(&pair[0].as_str().unwrap())));
        assert!(pairs.windows(2).all(|two| two[0][1].as_f64() >= two[1][1].as_f64()));
    }
    assert_eq!(lines[1], lines[2], "a history that says nothing asks for what everybody likes");
    fs::write(place.path().join("bad.jsonl"), "{\"tent\": 1}\n").unwrap();
    let bad = organza_in(place.path(), "recommend shop --histories bad.jsonl");
    assert_eq!(bad.code, Some(1));
    assert!(bad.stderr.contains("bad.jsonl line 1: write a JSON list of items"), "{}", bad.stderr);
}

/// 400 persons, two kinds of them, and whatever else a table may hold.
fn events() -> String {
    let mut text = "when,who,what,stars\n".to_owned();
    for person in 0..400 {
        for item in 0..6 {
            writeln!(
                text,
                "{item},p{person},{}{},{}",
                ["a", "b"][person % 2],
                (person / 2 + item) % 10,
                1 + item % 5
            )
            .unwrap();
        }
    }
    // One item, items of nobody else, none, no name, and a person with very many events.
    text += "1,lonely,a1,5\n1,odd,never seen,5\n1,,a1,5\n1,p1,,5\n1,p1,a1,much\n";
    (0..20_000).for_each(|event| writeln!(text, "{event},busy,x{},3", event % 5_000).unwrap());
    text
}

#[test]
fn tables_of_any_kind_are_read() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("events.csv"), events()).unwrap();
    let items: String =
        (0..10).flat_map(|it| [format!("a{it}\tFirst {it}\n"), format!("b{it}\n")]).collect();
    fs::write(place.path().join("items.txt"), items).unwrap();
    let columns = "recommender --data events.csv --user-column who --item-column what --epsilon 5";
    let more = "--items items.txt --titles items.txt --weight-column stars --full-weight 5 --time-column when --last 5";
    done(place.path(), &format!("{columns} {more} --out run"));
    let listed = fs::read_to_string(place.path().join("run/items.txt")).unwrap();
    assert!(
        listed.lines().all(|line| line.starts_with(['a', 'b'])) && listed.contains("a3\tFirst 3"),
        "{listed}"
    );
    let next = done(place.path(), "recommend run a1 unheard --top 2");
    assert!(next.stdout.contains("First"), "{}", next.stdout);
    assert!(next.stderr.contains("no item"), "{}", next.stderr);
    // Names that are private: those of one person do not show.
    done(place.path(), &format!("{columns} --out private-names"));
    let listed = fs::read_to_string(place.path().join("private-names/items.txt")).unwrap();
    assert!(!listed.contains("never seen") && !listed.contains('x'), "{listed}");
}

#[test]
fn bad_input_is_named_and_nothing_data_dependent_is_refused() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("empty.csv"), "who,what\n").unwrap();
    fs::write(place.path().join("one.csv"), "who,what\nann,tea\n").unwrap();
    fs::write(place.path().join("nothing"), "").unwrap();
    for (number, data) in ["empty.csv", "one.csv"].iter().enumerate() {
        let line = format!(
            "recommender --data {data} --user-column who --item-column what --out run{number}"
        );
        let made = done(place.path(), &line);
        assert!(made.stdout.contains("nothing can be recommended"), "{}", made.stdout);
        assert_eq!(done(place.path(), &format!("recommend run{number} tea")).stdout, "");
    }
    let wrong = |line: &str, code: i32, said: &str| {
        let outcome = organza_in(place.path(), line);
        assert_eq!(outcome.code, Some(code), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{line}: {}", outcome.stderr);
    };
    wrong(
        "recommender --data one.csv --user-column who --item-column that --out x",
        1,
        "there is no column `that`",
    );
    wrong("recommender --data one.csv --user-column who --out x", 2, "--item-column");
    wrong("recommender --data gone.csv --user-column a --item-column b --out x", 1, "gone.csv");
    wrong(
        "recommender --data one.csv --user-column who --item-column what --items nothing --out x",
        1,
        "names no item",
    );
    wrong("recommender --most-items 1 --out x", 2, "--most-items");
    wrong("recommender --epsilon 0 --out x", 2, "--epsilon");
    wrong("recommend gone tea", 1, "organza recommender");
    assert!(!place.path().join("x").exists());
}
