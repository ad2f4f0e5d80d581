//! Strings as numbers.

use std::collections::HashMap;

/// The largest number of distinct strings.
pub(crate) const LARGEST: u64 = u32::MAX as u64;

/// Gives each distinct string a number, in the order in which they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    numbers: HashMap<Box<str>, u32>,
}

impl Dictionary {
    /// The number of a string, or nothing if there are too many.
    pub(crate) fn number(&mut self, string: &str) -> Option<u32> {
        if let Some(&number) = self.numbers.get(string) {
            return Some(number);
        }
        // One number stays free, for what is in no vocabulary.
        let number = u32::try_from(self.numbers.len()).ok().filter(|&number| number < u32::MAX)?;
        self.numbers.insert(string.into(), number);
        Some(number)
    }

    /// The strings in the order of their numbers, where they are.
    pub(crate) fn strings(&self) -> Vec<&str> {
        let mut strings = vec![""; self.numbers.len()];
        for (string, number) in &self.numbers {
            strings[*number as usize] = string;
        }
        strings
    }

    /// The strings in the order of their numbers.
    pub(crate) fn into_strings(self) -> Vec<Box<str>> {
        let mut strings = vec![Box::default(); self.numbers.len()];
        for (string, number) in self.numbers {
            strings[number as usize] = string;
        }
        strings
    }
}

#[cfg(test)]
mod tests {
    use super::Dictionary;

    #[test]
    fn equal_strings_have_equal_numbers() {
        let mut dictionary = Dictionary::default();
        let numbers: Vec<_> = ["b", "a", "b", "c", "a"].map(|word| dictionary.number(word)).into();
        assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(2), Some(1)]);
        let strings = dictionary.into_strings();
        assert_eq!(strings.iter().map(|string| &**string).collect::<Vec<_>>(), ["b", "a", "c"]);
    }
}
