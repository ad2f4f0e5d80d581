//! dbg
use organza_accountant::pld::Accountant;
use organza_ledger::{Event, Neighbouring};
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let e = Event::Gaussian { noise_multiplier: a[0] }.poisson(a[1]).repeat(a[2] as u64);
    let x = Accountant::new(Neighbouring::AddRemove).compose(&e).unwrap();
    let s = std::time::Instant::now();
    println!("{:?} {:?}", x.epsilon(a[3]).unwrap(), s.elapsed());
}
