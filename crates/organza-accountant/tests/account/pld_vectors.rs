//! Reference figures: 50-digit quadrature, closed forms, and brackets from independent accountants.
#![allow(clippy::unwrap_used)]

use crate::gaussian;
use organza_accountant::pld::{Accountant, Direction, Guarantee};
use organza_ledger::{Event, Neighbouring};

fn account(event: &Event) -> Accountant {
    Accountant::new(Neighbouring::AddRemove).compose(event).unwrap()
}

fn epsilon(event: &Event, delta: f64) -> Guarantee {
    account(event).epsilon(delta).unwrap()
}

fn laplace(noise_multiplier: f64) -> Event {
    Event::Laplace { noise_multiplier }
}

fn pure(epsilon: f64) -> Event {
    Event::Pure { epsilon }
}

fn draws(epsilon: f64, draws: u64) -> Event {
    Event::Exponential { epsilon, draws, candidates: None, cap: None, l2: None }
}

/// Within `relative` of `truth`, and not below it but for the last digits of the truth itself.
fn assert_just_above(claim: f64, truth: f64, relative: f64) {
    assert!(claim >= truth * (1.0 - 1e-12), "{claim} is below {truth}");
    assert!(claim <= truth * (1.0 + relative), "{claim} is far above {truth}");
}

#[test]
fn gaussian_delta() {
    for (sigma, at, truth) in [
        (0.5, 4.0, 0.084_953_318_671_071_06),
        (1.0, 1.0, 0.126_936_737_506_643_95),
        (2.0, 0.0, 0.197_412_651_365_847_45),
    ] {
        let claim = account(&gaussian(sigma)).delta(at).unwrap().delta;
        assert_just_above(claim, truth, 1e-10);
        // Four with twice the noise are one.
        let four = account(&gaussian(2.0 * sigma).repeat(4)).delta(at).unwrap().delta;
        assert_just_above(four, truth, 1e-10);
    }
}

#[test]
fn one_sampled_step() {
    for (event, rate, at, direction, truth) in [
        (gaussian(0.5), 1e-4, 0.001, Direction::Remove, 2.677_330_935_614_157_6e-5),
        (gaussian(0.5), 1e-4, 1.0, Direction::Remove, 1.698_219_591_418_906_2e-9),
        (gaussian(1.0), 0.01, 0.005, Direction::Add, 0.000_963_144_335_305_304_8),
        (gaussian(1.0), 0.1, 0.1, Direction::Remove, 0.018_471_930_688_062_075),
        (laplace(0.5), 0.05, 0.1, Direction::Remove, 0.017_596_219_242_306_774),
        (laplace(0.5), 0.05, 0.02, Direction::Add, 0.016_224_938_996_316_416),
    ] {
        let claim = account(&event.poisson(rate)).delta(at).unwrap();
        if claim.direction == direction {
            assert_just_above(claim.delta, truth, 1e-9);
        } else {
            assert!(claim.delta >= truth, "{claim:?}");
        }
    }
}

#[test]
fn pure_composition() {
    for (each, times, at, truth) in [
        (0.1, 10, 0.3, 0.035_097_126_129_787_81),
        (0.1, 100, 2.0, 0.020_140_178_428_191_532),
        (0.5, 20, 4.0, 0.129_221_965_117_763_64),
        (1.0, 5, 3.0, 0.180_554_628_602_783_47),
        (0.01, 1000, 0.5, 0.009_753_760_456_825_002),
    ] {
        let claim = account(&pure(each).repeat(times)).delta(at).unwrap().delta;
        assert_just_above(claim, truth, 1e-9);
    }
    for (each, times, delta, truth) in
        [(0.1, 100, 1e-6, 4.774_567_588_107_986_1), (0.2838, 100, 1.25e-7, 17.338_967_760_127_81)]
    {
        assert_just_above(epsilon(&pure(each).repeat(times), delta).epsilon, truth, 1e-8);
    }
}

#[test]
fn one_of_many_fixed_groups() {
    for (at, sigma, groups, times, truth) in
        [(1.0, 2.0, 10, 50, 0.166_697_578_565_995_83), (3.0, 1.5, 100, 500, 0.058_486_433_909_411)]
    {
        let event = Event::Cluster { groups, event: Box::new(gaussian(sigma)) }.repeat(times);
        let coarse = account(&event).delta(at).unwrap().delta;
        assert_just_above(coarse, truth, 1e-4);
        let fine = account(&event).precision(1e-9).delta(at).unwrap().delta;
        assert_just_above(fine, truth, 1e-8);
    }
}

#[test]
fn bounded_range() {
    for (range, at, truth) in [
        (0.5, 0.0, 0.124_353_001_771_596_21),
        (0.5, 0.2, 0.049_310_748_881_811_2),
        (2.0, 1.0, 0.179_049_889_216_817_6),
    ] {
        assert_just_above(account(&draws(range, 1)).delta(at).unwrap().delta, truth, 2e-12);
    }
    for (range, count, at, lower, upper) in [
        (0.28, 100, 1.0, 0.281_626_379_519_108_96, 0.283_589_862_095_893_04),
        (0.28, 100, 3.0, 0.029_783_498_044_781_975, 0.030_525_292_675_484_254),
        (1.0, 10, 3.0, 0.064_355_388_045_622_37, 0.068_345_574_645_702_43),
        (0.1, 50, 0.5, 0.016_206_256_849_751_07, 0.016_524_566_415_343_247),
    ] {
        let claim = account(&draws(range, count)).delta(at).unwrap().delta;
        assert!(claim >= lower && claim <= upper, "{range} {count} {at}: {claim}");
    }
}

#[test]
fn sampled_gaussian() {
    // rate, sigma, steps, delta, lower bound, best estimate, epsilon' and its delta
    for (rate, sigma, steps, delta, lower, best, at, delta_at) in [
        (0.01, 1.0, 1000, 1e-5, 1.818_107, 1.828_236_439_8, 1.0969, 0.001_486_908_380_6),
        (0.001, 0.8, 10_000, 1e-6, 0.937_120, 0.947_195_161_1, 0.5683, 0.000_238_510_958_2),
        (0.1, 2.0, 100, 1e-6, 2.664_896, 2.675_035_300_0, 1.605, 0.000_732_048_224_5),
        (0.004, 1.1, 2500, 1e-5, 0.875_123, 0.885_181_799_7, 0.5311, 0.001_208_299_322_8),
        (1e-4, 0.5, 200_000, 1e-5, 2.407_495, 2.417_893_628_3, 1.4507, 0.000_189_184_958_6),
        (1e-4, 0.32, 200_000, 1e-5, 22.336_792, 22.347_901_787, 13.4087, 0.002_286_749_980_5),
        (0.02, 5.0, 5000, 1e-7, 1.361_779, 1.371_832_297_4, 0.8231, 0.000_256_683_950_0),
    ] {
        let event = gaussian(sigma).poisson(rate).repeat(steps);
        let claim = epsilon(&event, delta);
        assert!(claim.epsilon >= lower && claim.epsilon >= best * (1.0 - 1e-5), "{claim:?}");
        assert!(claim.epsilon <= best * (1.0 + 2e-4), "{claim:?} {best}");
        let there = account(&event).delta(at).unwrap().delta;
        assert!(there >= delta_at * (1.0 - 1e-3) && there <= delta_at * (1.0 + 1e-3), "{there}");
    }
}

#[test]
fn sampled_laplace() {
    for (scale, rate, steps, delta, lower, best) in [
        (1.0, 1.0, 10, 1e-5, 9.989_961_087_939_859, 9.989_961_721_972_461),
        (5.0, 1.0, 100, 1e-6, 10.276_276_621_877_598, 10.276_481_660_334_847),
        (1.0, 0.01, 1000, 1e-5, 1.116_641_651_348_923, 1.123_771_257_298_042),
        (0.5, 0.05, 200, 1e-6, 7.748_215_829_446_893, 7.750_231_694_281_385),
    ] {
        let claim = epsilon(&laplace(scale).poisson(rate).repeat(steps), delta).epsilon;
        assert!(claim >= lower && claim <= best * 1.0005, "{scale} {rate}: {claim}");
    }
}

#[test]
fn selection_and_noise_on_one_batch() {
    let paper = 0.283_786_953_672_762_13;
    for (selection, sigma, rate, steps, delta, best) in [
        (pure(0.3).repeat(10), 1.0, 0.01, 200, 1e-6, 2.822_948_116_839_47),
        (pure(0.1).repeat(50), 0.8, 0.001, 5000, 1e-5, 0.995_988_515_363_989_8),
        (draws(0.3, 10), 1.0, 0.01, 200, 1e-6, 1.588_619_761_150_458_7),
        (draws(paper, 100), 0.5, 1e-4, 200_000, 1e-5, 6.679_699_953_711_574),
        (draws(0.2, 64), 0.7, 0.002, 3000, 1e-6, 3.533_247_691_366_485_6),
        (pure(paper).repeat(100), 0.5, 1e-4, 200_000, 1e-5, 36.899_104_818_211_38),
    ] {
        let event = Event::Compose(vec![selection, gaussian(sigma)]).poisson(rate).repeat(steps);
        let claim = epsilon(&event, delta).epsilon;
        assert!(claim >= best * (1.0 - 1e-3) && claim <= best * 1.002, "{claim} {best}");
    }
}
