//! A synthetic shop, so that the first run needs no data: four kinds of customers, and everybody likes coffee.

use crate::application::RecommenderData;
use crate::histories::Histories;
use organza_mechanism::sample::unit;
use organza_mechanism::{Purpose, RandomSource};

/// The number of customers.
const CUSTOMERS: u64 = 20_000;
/// What a customer buys: between so many and so many items.
const FEWEST: f64 = 4.0;
const MOST: f64 = 24.0;
/// Of what a customer buys, the part that is to their taste, and the part that everybody buys.
const TO_TASTE: f64 = 0.6;
const COMMON: f64 = 0.15;

/// What is sold: what everybody buys, then what each kind of customer does.
const GOODS: [&[&str]; 9] = [
    &["coffee", "tea", "milk", "bread", "butter", "apples", "soap", "paper towels"],
    &[
        "tent",
        "sleeping bag",
        "hiking boots",
        "rucksack",
        "head torch",
        "camping stove",
        "map",
        "compass",
        "water bottle",
        "rain jacket",
    ],
    &[
        "flour",
        "yeast",
        "rolling pin",
        "baking tin",
        "vanilla",
        "icing sugar",
        "cake stand",
        "whisk",
        "oven gloves",
        "cinnamon",
    ],
    &[
        "trowel",
        "flower pots",
        "tulip bulbs",
        "compost",
        "watering can",
        "rose bush",
        "secateurs",
        "gardening gloves",
        "bird feeder",
        "lawn seed",
    ],
    &[
        "guitar strings",
        "plectrum",
        "music stand",
        "metronome",
        "sheet music",
        "headphones",
        "microphone",
        "keyboard",
        "tuner",
        "capo",
    ],
    &[
        "running shoes",
        "yoga mat",
        "dumbbells",
        "sweatband",
        "energy bars",
        "skipping rope",
        "bike helmet",
        "swimming goggles",
        "football",
        "tennis balls",
    ],
    &[
        "watercolours",
        "sketchbook",
        "easel",
        "paint brushes",
        "pencils",
        "canvas",
        "charcoal",
        "clay",
        "glue",
        "scissors",
    ],
    &[
        "chess set",
        "playing cards",
        "jigsaw",
        "dice",
        "board game",
        "go stones",
        "puzzle book",
        "dominoes",
        "darts",
        "kite",
    ],
    &[
        "saw",
        "hammer",
        "drill",
        "screws",
        "sandpaper",
        "wood glue",
        "tape measure",
        "spirit level",
        "paint roller",
        "toolbox",
    ],
];

/// The customers of the shop. Their tastes are known: who buys a tent buys boots.
pub(crate) fn shop() -> RecommenderData {
    let names: Vec<String> = GOODS.concat().iter().map(|item| item.to_string()).collect();
    let mut starts = vec![0];
    GOODS.iter().for_each(|goods| starts.push(starts.last().unwrap_or(&0) + goods.len()));
    let tastes = GOODS.len() as u64 - 1;
    let source = RandomSource::from_seed(0);
    let rows = (0..CUSTOMERS).map(|customer| {
        let mut random = source.substream(Purpose::Data, 0, customer);
        let taste = 1 + (customer % tastes) as usize;
        let number = (FEWEST + (MOST - FEWEST) * unit(&mut random)) as usize;
        let mut row = Vec::with_capacity(number);
        for _ in 0..number {
            let kind = unit(&mut random);
            let (from, to) = if kind < TO_TASTE {
                (starts[taste], starts[taste + 1])
            } else if kind < TO_TASTE + COMMON {
                (starts[0], starts[1])
            } else {
                (0, names.len())
            };
            row.push((from + (unit(&mut random) * (to - from) as f64) as usize) as u32);
        }
        row
    });
    let histories = Histories::of_rows(names.len(), rows.collect::<Vec<_>>());
    RecommenderData::declared(histories, names)
}
