//! One bar of pieces: where something went.

use super::frame::{point, title};
use super::{COLORS, Draw, Tips, WIDTH};
use crate::digits::near;
use crate::escape::escaped;
use std::fmt::{self, Write};

const TOP: f64 = 36.0;
const THICK: f64 = 34.0;
const ROW: f64 = 22.0;
const MARGIN: f64 = 4.0;
/// The color of what is left over.
const REST: usize = COLORS.len() - 1;

/// One piece.
#[derive(Clone, Debug)]
pub struct Piece {
    /// What it is.
    pub name: String,
    /// How much of it there is.
    pub value: f64,
    /// Whether it is what is left over.
    pub is_rest: bool,
}

/// One bar of pieces, each with a line that names it.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What it shows.
    pub title: String,
    /// What the pieces measure, such as `epsilon`.
    pub measure: String,
    /// The pieces, from left to right; those below or at zero are named and not drawn.
    pub pieces: Vec<Piece>,
}

impl Stack {
    fn finite(&self) -> impl Iterator<Item = (usize, &Piece)> {
        let finite = self.pieces.iter().filter(|piece| piece.value.is_finite());
        finite
            .enumerate()
            .map(|(index, piece)| (if piece.is_rest { REST } else { index % REST }, piece))
    }

    fn words(&self, piece: &Piece) -> String {
        format!("{}: {} {}", piece.name, self.measure, near(piece.value))
    }
}

impl Draw for Stack {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let pieces: Vec<String> = self.finite().map(|(_, piece)| self.words(piece)).collect();
        pieces.join(", ") + "."
    }

    fn height(&self) -> f64 {
        TOP + THICK + 16.0 + ROW * self.pieces.len() as f64
    }

    fn write(&self, svg: &mut String, tips: Tips) -> fmt::Result {
        title(svg, &self.title)?;
        let whole: f64 = self.finite().map(|(_, piece)| piece.value.max(0.0)).sum();
        let scale = (WIDTH - 2.0 * MARGIN) / if whole > 0.0 { whole } else { 1.0 };
        let mut left = MARGIN;
        for (row, (color, piece)) in self.finite().enumerate() {
            let width = piece.value.max(0.0) * scale;
            let fill = COLORS[color];
            let y = TOP + THICK + 22.0 + ROW * row as f64;
            if width > 0.0 {
                let share = near((1e3 * piece.value / whole).round() / 10.0);
                let shape = format!(
                    "<rect class=\"point bar s{color}\" x=\"{left:.1}\" y=\"{TOP}\" \
                     width=\"{:.1}\" height=\"{THICK}\" fill=\"{fill}\"",
                    (width - 1.0).max(1.0)
                );
                let words = format!("{}\n{share} % of all", self.words(piece));
                point(svg, &shape, (left + width / 2.0, TOP), &words, tips)?;
                left += width;
            }
            writeln!(
                svg,
                "<rect class=\"bar s{color}\" x=\"{MARGIN}\" y=\"{:.1}\" width=\"12\" height=\"12\" \
                 rx=\"2\" fill=\"{fill}\"/><text x=\"{}\" y=\"{y:.1}\">{}</text>\
                 <text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                y - 10.5,
                MARGIN + 20.0,
                escaped(&piece.name),
                WIDTH - MARGIN,
                escaped(&near(piece.value))
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::inline;

    #[test]
    fn pieces_share_the_bar_by_their_values() {
        let piece = |name: &str, value, is_rest| Piece { name: name.to_owned(), value, is_rest };
        let stack = Stack {
            title: "budget".to_owned(),
            measure: "epsilon".to_owned(),
            pieces: vec![
                piece("training", 3.0, false),
                piece("nothing", 0.0, false),
                piece("left", 1.0, true),
            ],
        };
        let svg = inline(&stack);
        assert!(svg.contains("width=\"293.0\"") && svg.contains("width=\"97.0\""), "{svg}");
        assert_eq!(svg.matches("data-tip=").count(), 2, "{svg}");
        assert!(svg.contains("data-tip=\"training: epsilon 3\n75 % of all\""), "{svg}");
        assert_eq!(
            stack.description(),
            "training: epsilon 3, nothing: epsilon 0, left: epsilon 1."
        );
    }
}
