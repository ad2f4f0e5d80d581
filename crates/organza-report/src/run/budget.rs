//! Where the budget went: epsilon over the steps, and by purpose.

use super::RunFiles;
use crate::chart::{Axis, Chart, Line, Piece, Stack};
use crate::describe::count;
use crate::digits::cost;
use crate::page::{Cell, Figure, Section, Table};
use organza_accountant::Accountant;
use organza_ledger::{Account, Charge, Event, Header};
use organza_train::Certificate;
use organza_train::settings::RunSettings;

/// The most points on the curve.
const POINTS: usize = 20;
/// Far below what an eye can see, and far quicker than the precision of a figure to quote.
const PRECISION: f64 = 3e-4;
/// The purpose of releasing the number of units.
const UNITS: &str = "units";
/// What the purposes of steps begin with: on one machine they have no other word, by workers they have.
const TRAINING: &str = "training";

/// What was spent, as the ledger says.
pub(super) struct Spending {
    /// Epsilon after a number of steps was paid for.
    curve: Vec<(f64, f64)>,
    /// What each purpose cost, in the order of the ledger.
    purposes: Vec<Purpose>,
}

/// What one purpose cost.
struct Purpose {
    name: String,
    steps: u64,
    /// Epsilon of this purpose alone.
    alone: Option<f64>,
    /// Epsilon with all that came before.
    together: Option<f64>,
}

impl<S: RunSettings> RunFiles<S> {
    /// What was spent; none without privacy.
    pub(super) fn spending(&self) -> Option<Spending> {
        let ledger = self.ledger.as_ref()?;
        let price = |charges: &[Charge]| price(&ledger.header, charges);
        let stride = ledger.charges.len().div_ceil(POINTS).max(1);
        let mut curve = Vec::new();
        for end in 1..=ledger.charges.len() {
            if end % stride == 0 || end == ledger.charges.len() || end == 1 {
                let paid = &ledger.charges[..end];
                let training = paid.iter().filter(|it| it.purpose.starts_with(TRAINING));
                let steps: u64 = training.map(|charge| charge.steps).sum();
                curve.extend(price(paid).map(|epsilon| (steps as f64, epsilon)));
            }
        }
        let mut parts: Vec<(String, Vec<Charge>)> = Vec::new();
        for charge in &ledger.charges {
            match parts.iter_mut().find(|(name, _)| *name == charge.purpose) {
                Some((_, charges)) => charges.push(charge.clone()),
                None => parts.push((charge.purpose.clone(), vec![charge.clone()])),
            }
        }
        let mut before: Vec<Charge> = Vec::new();
        let mut purposes = Vec::new();
        for (name, charges) in parts {
            let name = if name == UNITS { "number of units".to_owned() } else { name };
            let steps = charges.iter().map(|charge| charge.steps).sum();
            if let Some(noise) = noise_alone(&charges).filter(|_| name.starts_with(TRAINING)) {
                let with_noise = [&before[..], &noise].concat();
                let (alone, together) = (price(&noise), price(&with_noise));
                let name = format!("{name}: noise on gradients");
                purposes.push(Purpose { name, steps, alone, together });
                before.extend(charges);
                let (alone, together) = (None, price(&before));
                purposes.push(Purpose {
                    name: "selection on top".to_owned(),
                    steps,
                    alone,
                    together,
                });
            } else {
                let alone = price(&charges);
                before.extend(charges);
                purposes.push(Purpose { name, steps, alone, together: price(&before) });
            }
        }
        let mut spending = Spending { curve, purposes };
        if spending.contradiction(&self.certificate).is_none() {
            spending.cap(self.certificate.epsilon?);
        }
        Some(spending)
    }
}

/// The epsilon of charges; none where the account has no answer.
fn price(header: &Header, charges: &[Charge]) -> Option<f64> {
    let account = Accountant::new(header.neighbouring).precision(PRECISION);
    Account::epsilon(&account, &Charge::events(charges), header.delta).ok()
}

/// The same charges without their selection; none where there is none, or it cannot be told apart.
fn noise_alone(charges: &[Charge]) -> Option<Vec<Charge>> {
    let kept = charges.iter().map(|charge| {
        let event = without_selection(&charge.event)?;
        Some(Charge { event, ..charge.clone() })
    });
    kept.collect()
}

fn without_selection(event: &Event) -> Option<Event> {
    match event {
        Event::Poisson { rate, event } => {
            without_selection(event).map(|event| event.poisson(*rate))
        }
        Event::Compose(parts) => {
            let is_noise = |part: &&Event| {
                matches!(part, Event::Gaussian { .. } | Event::RoundedGaussian { .. })
            };
            let noise: Vec<Event> = parts.iter().filter(is_noise).cloned().collect();
            (!noise.is_empty() && noise.len() < parts.len()).then_some(Event::Compose(noise))
        }
        _ => None,
    }
}

impl Spending {
    /// Takes no value above `whole`, the finer account of all charges together, which bounds every
    /// part of them.
    fn cap(&mut self, whole: f64) {
        self.curve.iter_mut().for_each(|(_, epsilon)| *epsilon = epsilon.min(whole));
        for purpose in &mut self.purposes {
            for epsilon in [&mut purpose.alone, &mut purpose.together].into_iter().flatten() {
                *epsilon = epsilon.min(whole);
            }
        }
    }

    /// What is wrong where the certificate says less than the ledger.
    pub(super) fn contradiction(&self, certificate: &Certificate) -> Option<String> {
        let (said, spent) = (certificate.epsilon?, self.curve.last()?.1);
        // Twice the grid of the coarse account.
        (said * (1.0 + 2.0 * PRECISION) < spent).then(|| {
            format!(
                "The certificate says epsilon {}, but the charges on the ledger come to {}: do not \
                 rely on it.",
                cost(said),
                cost(spent)
            )
        })
    }

    pub(super) fn section(&self, certificate: &Certificate, budget: Option<f64>) -> Section {
        let delta =
            certificate.delta.map_or(String::new(), |delta| format!(" at delta {}", cost(delta)));
        let mut section = Section::new("Where the budget went").text(
            "Everything that is learned from the data is charged to a ledger before it is released. \
             These are its charges, priced together.",
        );
        if self.curve.iter().filter(|(steps, _)| *steps > 0.0).count() >= super::CURVE {
            let mark = self.curve.last().map(|(steps, epsilon)| {
                (*steps, *epsilon, format!("{} at {}", cost(*epsilon), count(*steps as u64)))
            });
            let chart = Chart {
                title: "Epsilon over steps".to_owned(),
                horizontal: Axis::linear("steps paid for"),
                vertical: Axis::linear("epsilon"),
                lines: vec![Line::new("epsilon", self.curve.iter().copied())],
                mark,
            };
            section = section.figure(Figure::new("epsilon-over-steps", chart).caption(format!(
                "What was spent{delta} by the time this many steps were paid for."
            )));
        }
        let stack = Stack {
            title: "Epsilon by purpose".to_owned(),
            measure: "epsilon".to_owned(),
            pieces: self.pieces(certificate, budget),
        };
        section = section.figure(Figure::new("budget", stack).caption(
            "What each purpose added to the whole, in the order of the ledger. Epsilons of parts do not \
             simply add up: the table says what each costs alone."
        ));
        let mut table =
            Table::new("ledger", ["purpose", "charged steps", "alone", "with all before"]);
        for Purpose { name, steps, alone, together } in &self.purposes {
            table = table.row([
                name.clone().into(),
                Cell::from(*steps),
                Cell::cost(*alone),
                Cell::cost(*together),
            ]);
        }
        section.table(table.caption(format!("Epsilon{delta}, rounded up.")))
    }

    /// What each purpose added, and what is left of the budget.
    fn pieces(&self, certificate: &Certificate, budget: Option<f64>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut before = 0.0;
        for purpose in &self.purposes {
            let Some(together) = purpose.together else { continue };
            let value = (together - before).max(0.0);
            pieces.push(Piece { name: purpose.name.clone(), value, is_rest: false });
            before = together;
        }
        if let (Some(budget), Some(spent)) = (budget, certificate.epsilon) {
            let value = (budget - spent).max(0.0);
            pieces.push(Piece { name: format!("left of {}", cost(budget)), value, is_rest: true });
        }
        pieces
    }
}
