//! Gradients by finite differences, and what padding and weights must not change.

use super::*;
use rand::SeedableRng;

const SIZES: Sizes = Sizes { vocabulary: 7, embedding: 4, units: 5, reversed: false };

fn network(sizes: Sizes, dtype: DType) -> Network {
    Network::random(sizes, dtype, &mut ChaCha8Rng::seed_from_u64(3)).expect("a network")
}

fn row<'a>(source: &'a [u32], target: &'a [u32], weight: f64) -> Row<'a> {
    Row { source, target, weight }
}

fn loss(network: &Network, rows: &[Row]) -> f64 {
    network.loss(rows).expect("a loss").to_scalar().expect("a number")
}

/// Every number of every parameter, in double precision, against central differences.
#[test]
fn gradients_are_those_of_finite_differences() {
    for reversed in [false, true] {
        let network = network(Sizes { reversed, ..SIZES }, DType::F64);
        let rows = [row(&[3, 4, 5], &[3, 6], 0.4), row(&[5, 5, 3], &[4, 4, 5, 3], 0.35), row(&[6, 3, 2], &[], 0.25)];
        let gradients = network.loss(&rows).expect("a loss").backward().expect("gradients");
        for (name, parameter) in network.parameters() {
            let gradient = gradients.get(parameter).expect("a gradient of every parameter");
            let gradient: Vec<f64> = gradient.flatten_all().and_then(|g| g.to_vec1()).expect("numbers");
            let values: Vec<f64> = parameter.flatten_all().and_then(|v| v.to_vec1()).expect("numbers");
            assert!(gradient.iter().any(|g| g.abs() > 1e-6), "{name} has no gradient");
            for i in 0..values.len() {
                let at = |delta: f64| {
                    let mut moved = values.clone();
                    moved[i] += delta;
                    let moved = Tensor::from_vec(moved, parameter.shape(), &Device::Cpu).expect("a tensor");
                    parameter.set(&moved).expect("set");
                    loss(&network, &rows)
                };
                let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
                at(0.0);
                let error = (numeric - gradient[i]).abs() / (1e-3 + numeric.abs());
                assert!(error < 1e-5, "{name}[{i}]: {} by differentiation, {numeric} by differences", gradient[i]);
            }
        }
    }
}

/// One step of the cell against its formula in plain numbers.
#[test]
fn the_cell_is_that_of_chung() {
    let sizes = Sizes { vocabulary: 4, embedding: 1, units: 1, reversed: false };
    let network = network(sizes, DType::F64);
    let number = |name: &str, i: usize| {
        let values: Vec<f64> = network.parameters()[name].flatten_all().and_then(|v| v.to_vec1()).expect("numbers");
        values[i]
    };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (x, h) = (number("embedding", 3), 0.3);
    let gate = |i| sigmoid(x * number("encoder.gate_input", i) + h * number("encoder.gate_state", i) + 1.0);
    let (z, r) = (gate(0), gate(1));
    let c = (x * number("encoder.candidate_input", 0) + r * h * number("encoder.candidate_state", 0)).tanh();
    let cell = network.encoder.cell(&network.embedding).expect("a cell");
    let state = Tensor::new(&[[h]], &Device::Cpu).expect("a state");
    let next: Vec<Vec<f64>> = cell.step(&[3], &state).and_then(|s| Ok(s.to_vec2()?)).expect("a step");
    assert!((next[0][0] - (z * c + (1.0 - z) * h)).abs() < 1e-12);
}

#[test]
fn the_loss_of_a_batch_is_the_sum_of_its_rows() {
    let network = network(SIZES, DType::F64);
    let rows = [row(&[3, 4], &[3, 6, 5, 4], 0.5), row(&[5, 3], &[4], 0.25), row(&[5, 3], &[4], 0.25)];
    let together = loss(&network, &rows);
    let apart: f64 = rows.iter().map(|row| loss(&network, &[*row])).sum();
    let merged = loss(&network, &[rows[0], row(&[5, 3], &[4], 0.5)]);
    assert!((together - apart).abs() < 1e-12, "padding takes part: {together} and {apart}");
    assert!((together - merged).abs() < 1e-12, "equal rows count once: {together} and {merged}");
}

#[test]
fn batches_translate_as_single_sources() {
    let network = network(SIZES, DType::F32);
    let sources: [&[u32]; 3] = [&[3, 4, 5], &[5, 5, 3], &[6, 2, 2]];
    let together = network.translate(&sources, 4).expect("translations");
    for (source, expected) in sources.iter().zip(together) {
        assert_eq!(network.translate(&[source], 4).expect("a translation"), [expected]);
    }
    assert!(network.translate(&[], 4).expect("nothing").is_empty());
    let mixed: [&[u32]; 2] = [&[3], &[3, 4]];
    let error = network.translate(&mixed, 4).expect_err("two lengths").to_string();
    assert_eq!(error, "sources of 1 and of 2 tokens in a batch");
}

#[test]
fn wrong_parameters_are_named() {
    let small = network(SIZES, DType::F32);
    let error = Network::new(Sizes { units: 6, ..SIZES }, small.parameters().clone()).err().expect("sizes differ");
    assert!(error.to_string().contains("encoder.gate_input is [4, 10], not (4, 12)"), "{error}");
    let mut fewer = small.parameters().clone();
    fewer.remove("output.bias");
    assert_eq!(Network::new(SIZES, fewer).err().expect("one lacks").to_string(), "no parameter output.bias");
}
