//! Loss distributions for a person with several records.
#![allow(clippy::unwrap_used)]

use organza_accountant::pld::Accountant;
use organza_ledger::{Event, Neighbouring};

#[test]
fn explore() {
    for (q, s, t, m, d) in [(1e-4,0.5,200_000u64,1u64,1e-5),(1e-4,0.5,200_000,2,1e-5),(1e-4,0.5,200_000,5,1e-5),(1e-4,0.5,200_000,10,1e-5),(1e-4,0.5,200_000,100,1e-5),
      (1e-4,1.0,200_000,1,1e-5),(1e-4,1.0,200_000,2,1e-5),(1e-4,1.0,200_000,5,1e-5),(1e-4,1.0,200_000,10,1e-5),(1e-4,1.0,200_000,100,1e-5),(1e-4,1.0,200_000,1000,1e-5),
      (1e-3,1.0,2000,4,1e-5),(0.01,2.0,1000,10,1e-6),(0.1,20.0,100,50,1e-6),(0.05,4.0,1,8,1e-6),(0.3,5.0,10,3,1e-6),
      (1e-6,0.3,1_000_000,1000,1e-6),(1e-6,100.0,1_000_000,1000,1e-6),(0.5,100.0,1000,1000,1e-6),(0.01,0.3,1000,1000,1e-6),(0.999,100.0,10,1000,1e-6)] {
        let run = Event::Gaussian { noise_multiplier: s }.poisson(q).repeat(t);
        let start = std::time::Instant::now();
        let found = Accountant::new(Neighbouring::AddRemove).group(m).compose(&run).unwrap().epsilon(d);
        let took = start.elapsed().as_secs_f64();
        let rdp = organza_accountant::group::sampled_gaussian(q, s, t, m, d);
        println!("{q} {s} {t} {m} {d}: {:?} {took:.3} rdp {rdp:?} {:.3}", found.map(|g| (g.epsilon, g.direction)), start.elapsed().as_secs_f64()-took);
    }
}
