//! The words of the built-in corpus: topics of sixteen words, and words that go with every topic.

/// A topic: its name, and its words from frequent to rare.
pub(super) type Topic = (&'static str, [&'static str; 16]);

/// The topics, from frequent to rare. No word is in two of them.
#[rustfmt::skip]
pub(super) const TOPICS: [Topic; 16] = [
    ("food", ["bread", "cheese", "soup", "rice", "butter", "salad", "pepper", "garlic", "noodle",
        "honey", "bean", "cake", "onion", "sauce", "flour", "spoon"]),
    ("family", ["mother", "father", "sister", "brother", "daughter", "uncle", "cousin", "aunt",
        "grandmother", "baby", "nephew", "parent", "twin", "niece", "wedding", "grandfather"]),
    ("weather", ["rain", "wind", "snow", "storm", "cloud", "thunder", "frost", "sunshine", "fog",
        "breeze", "hail", "drizzle", "heat", "lightning", "forecast", "blizzard"]),
    ("money", ["bank", "price", "loan", "tax", "profit", "market", "credit", "salary", "invoice",
        "budget", "debt", "interest", "cash", "dividend", "mortgage", "pension"]),
    ("music", ["song", "piano", "guitar", "violin", "melody", "drum", "choir", "rhythm",
        "orchestra", "trumpet", "concert", "flute", "chord", "singer", "opera", "cello"]),
    ("health", ["doctor", "nurse", "fever", "hospital", "medicine", "patient", "vaccine", "surgery",
        "clinic", "bandage", "pulse", "symptom", "allergy", "headache", "pharmacy", "therapy"]),
    ("sport", ["team", "goal", "match", "coach", "player", "league", "stadium", "referee", "tennis",
        "score", "medal", "sprint", "trophy", "defender", "tournament", "goalkeeper"]),
    ("animals", ["dog", "cat", "horse", "bird", "sheep", "rabbit", "goat", "fox", "duck", "mouse",
        "squirrel", "owl", "donkey", "hedgehog", "otter", "badger"]),
    ("travel", ["train", "ticket", "airport", "hotel", "luggage", "passport", "station", "flight",
        "map", "platform", "suitcase", "taxi", "border", "tourist", "ferry", "itinerary"]),
    ("school", ["teacher", "lesson", "pupil", "homework", "exam", "classroom", "pencil", "textbook",
        "grade", "essay", "library", "spelling", "blackboard", "semester", "diploma", "tutor"]),
    ("garden", ["rose", "tree", "soil", "seed", "lawn", "tulip", "hedge", "compost", "shovel",
        "blossom", "weed", "greenhouse", "ivy", "orchard", "petal", "rake"]),
    ("sea", ["ship", "harbour", "wave", "sailor", "island", "anchor", "tide", "captain",
        "lighthouse", "coral", "whale", "shore", "fishing", "dolphin", "reef", "lagoon"]),
    ("law", ["court", "judge", "lawyer", "trial", "verdict", "witness", "jury", "appeal",
        "contract", "evidence", "crime", "sentence", "plaintiff", "statute", "testimony", "bail"]),
    ("computing", ["computer", "software", "keyboard", "network", "screen", "server", "password",
        "file", "database", "browser", "compiler", "printer", "laptop", "cursor", "algorithm",
        "firewall"]),
    ("space", ["star", "planet", "rocket", "moon", "orbit", "galaxy", "comet", "telescope",
        "astronaut", "satellite", "gravity", "eclipse", "asteroid", "nebula", "meteor", "cosmos"]),
    ("theatre", ["stage", "actor", "curtain", "audience", "costume", "rehearsal", "comedy",
        "script", "tragedy", "scene", "director", "applause", "mask", "spotlight", "prop",
        "playwright"]),
];

/// Words that go with every topic, from frequent to rare.
#[rustfmt::skip]
pub(super) const COMMON: [&str; 44] = [
    "good", "new", "day", "time", "people", "see", "little", "long", "great", "place", "old",
    "year", "find", "first", "work", "way", "thing", "think", "come", "know", "large", "small",
    "early", "late", "bring", "keep", "begin", "often", "next", "week", "quiet", "bright", "simple",
    "several", "remember", "almost", "usual", "pleasant", "sudden", "gather", "careful", "ordinary",
    "eventually", "seldom",
];
