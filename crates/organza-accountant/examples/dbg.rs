//! dbg
use organza_accountant::pld::Accountant;
use organza_ledger::{Event, Neighbouring};
fn main() {
    let e = Event::Approximate { epsilon: 0.3344677700160257, delta: 1e-9 }.poisson(1.9633031005602794e-9).repeat(20971);
        let x = Accountant::new(Neighbouring::ReplaceOne).compose(&e).unwrap();
        println!("{:?}", x.epsilon(3.0458390083713818e-6).unwrap());
        println!("{:?}", x.delta(0.0).unwrap());
        println!("{:?}", x.delta(0.1).unwrap());
}
