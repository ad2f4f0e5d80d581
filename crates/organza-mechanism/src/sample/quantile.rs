//! The quantile of the normal law, as a guess.

/// Wichura's coefficients (algorithm AS 241, 1988), lowest power first: numerator and denominator.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];
const SIDES: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const ENDS: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

/// The number that a standard normal is below with probability `chance`, to about 15 digits.
pub(crate) fn normal_quantile(chance: f64) -> f64 {
    let centred = chance - 0.5;
    if centred.abs() <= 0.425 {
        return centred * rational(&CENTRE, 0.180_625 - centred * centred);
    }
    let distance = libm::sqrt(-libm::log(chance.min(1.0 - chance)));
    let size = if distance <= 5.0 {
        rational(&SIDES, distance - 1.6)
    } else {
        rational(&ENDS, distance - 5.0)
    };
    size.copysign(centred)
}

fn rational([above, below]: &[[f64; 8]; 2], x: f64) -> f64 {
    let value = |coefficients: &[f64; 8]| {
        coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
    };
    value(above) / value(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_inverts_the_error_function() {
        for exponent in 1..600 {
            let chance = 2_f64.powf(-f64::from(exponent) / 4.0);
            let back = 0.5 * libm::erfc(-normal_quantile(chance) * std::f64::consts::FRAC_1_SQRT_2);
            assert!((back / chance - 1.0).abs() < 1e-12, "{chance} {back}");
        }
        assert!((normal_quantile(0.975) + normal_quantile(0.025)).abs() < 1e-14);
    }
}
