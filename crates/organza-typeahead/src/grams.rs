//! Released n-grams, as a tree: the n-grams of an order hang at those of the order below that they begin with.

/// What no table has.
pub(crate) const NONE: u32 = u32::MAX;

/// The n-grams of one order that were released, by their contexts and then by their last words.
///
/// # Privacy
/// It is made of cells that were released, and nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// Where the continuations of each context begin, and at last where those of the last one end. A context is an n-gram of the order
    /// below, by its place there; of the first order, a symbol.
    starts: Vec<u32>,
    words: Vec<u32>,
    counts: Vec<f32>,
    /// The n-gram without its first word, by its place in the order below.
    suffixes: Vec<u32>,
    /// The deviation of the noise of a count; 0 without privacy.
    deviation: f32,
}

impl Order {
    /// From (context, word, count), by context and word, and where each of them is without its first word.
    pub(crate) fn new(
        contexts: usize,
        cells: impl IntoIterator<Item = (u32, u32, f32)>,
        suffix: impl Fn(u32, u32) -> u32,
        deviation: f64,
    ) -> Self {
        let mut order = Self { deviation: deviation as f32, ..Self::default() };
        order.starts.push(0);
        for (context, word, count) in cells {
            let next = order.words.len() as u32;
            order.starts.resize(context as usize + 1, next);
            order.words.push(word);
            order.counts.push(count);
            order.suffixes.push(suffix(context, word));
        }
        order.starts.resize(contexts + 1, order.words.len() as u32);
        order
    }

    /// From its tables, if they fit each other: for so many contexts and symbols.
    pub(crate) fn read(
        starts: Vec<u32>,
        words: Vec<u32>,
        counts: Vec<f32>,
        deviation: f32,
        contexts: usize,
        symbols: u32,
    ) -> Option<Self> {
        let rising = starts.is_sorted() && starts.first() == Some(&0);
        let ends = starts.last().map(|end| *end as usize) == Some(words.len());
        let sizes = starts.len() == contexts + 1 && counts.len() == words.len();
        let known = words.iter().all(|word| *word < symbols);
        let order = Self { starts, words, counts, suffixes: Vec::new(), deviation };
        let sorted = |context: u32| order.words[order.places(context)].is_sorted();
        let fits = rising && ends && sizes && known && (0..contexts as u32).all(sorted);
        fits.then_some(order)
    }

    /// How many n-grams there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The places of the n-grams with a context; none if there is no such context.
    pub(crate) fn places(&self, context: u32) -> std::ops::Range<usize> {
        let starts = self.starts.get(context as usize..).unwrap_or_default();
        match starts {
            [from, to, ..] => *from as usize..*to as usize,
            _ => 0..0,
        }
    }

    /// The place of an n-gram; [`NONE`] if it was not released.
    pub(crate) fn place(&self, context: u32, word: u32) -> u32 {
        let places = self.places(context);
        match self.words[places.clone()].binary_search(&word) {
            Ok(place) => (places.start + place) as u32,
            Err(_) => NONE,
        }
    }

    /// The context of an n-gram.
    pub(crate) fn context_of(&self, place: u32) -> u32 {
        self.starts.partition_point(|start| *start <= place) as u32 - 1
    }

    /// The words that follow a context, with their noisy counts.
    pub(crate) fn following(&self, context: u32) -> impl Iterator<Item = (u32, f32)> {
        let places = self.places(context);
        let words = self.words[places.clone()].iter().copied();
        words.zip(self.counts[places].iter().copied())
    }

    /// The last words of all n-grams.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The noisy counts of all n-grams.
    pub fn counts(&self) -> &[f32] {
        &self.counts
    }

    /// Where the continuations of contexts begin.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The deviation of the noise.
    pub fn deviation(&self) -> f64 {
        self.deviation.into()
    }

    pub(crate) fn suffix(&self, place: u32) -> u32 {
        self.suffixes[place as usize]
    }
}

/// All n-grams that were released, with the noisy counts of words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grams {
    /// The noisy count of each symbol; those that are no words have none.
    pub(crate) words: Vec<f32>,
    /// The deviation of the noise of these.
    pub(crate) deviation: f32,
    /// Bigrams, trigrams and so on.
    pub(crate) orders: Vec<Order>,
}

impl Grams {
    /// The number of symbols: words, the end of a sentence and the word outside.
    pub fn symbols(&self) -> u32 {
        self.words.len() as u32
    }

    /// The noisy count of each symbol.
    pub fn words(&self) -> &[f32] {
        &self.words
    }

    /// Bigrams, trigrams and so on.
    pub fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// The deviations of the noise of counts, of words, bigrams and so on; 0 without privacy.
    pub fn deviations(&self) -> Vec<f32> {
        [self.deviation].into_iter().chain(self.orders.iter().map(|it| it.deviation)).collect()
    }

    /// The order beyond the last: its contexts are the n-grams of the last one.
    pub(crate) fn next_contexts(&self) -> usize {
        self.orders.last().map_or(self.words.len(), Order::len)
    }

    /// Where the n-gram of (context, word) is without its first word, in the order below, for the order beyond the last.
    pub(crate) fn next_suffix(&self, context: u32, word: u32) -> u32 {
        match self.orders.last() {
            // A bigram without its first word is a word.
            None => word,
            Some(last) => last.place(last.suffix(context), word),
        }
    }
}
