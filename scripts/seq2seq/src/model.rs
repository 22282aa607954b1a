//! A trained network as a folder: `model.json` and `weights.safetensors`.

use crate::network::{Network, Parameters, Sizes};
use crate::training::{Epoch, Schedule};
use crate::vocabulary::Vocabulary;
use crate::{Result, failed, replace};
use candle_core::{Device, Tensor, Var};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

/// Version of the folder.
const VERSION: u32 = 1;

/// All of a model but its weights.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Version of the folder.
    pub version: u32,
    /// Sizes of the network.
    pub sizes: Sizes,
    /// Tokens of the longest target: no translation is longer.
    pub longest: usize,
    /// Tokens by number.
    pub vocabulary: Vocabulary,
    /// How it was trained.
    pub schedule: Schedule,
    /// Seed of weights and batches.
    pub seed: u64,
    /// The loss of each epoch.
    pub curve: Vec<Epoch>,
}

impl Description {
    /// The description of a model of this version.
    pub fn new(network: &Network, vocabulary: Vocabulary, longest: usize, schedule: Schedule, seed: u64) -> Self {
        Self { version: VERSION, sizes: network.sizes(), longest, vocabulary, schedule, seed, curve: Vec::new() }
    }
}

/// Writes a model into `folder`, which is made where it is absent. The description goes first and comes
/// last, so that weights of a training that was ended between the two are not taken for those of an
/// earlier one.
pub fn save(folder: &Path, description: &Description, network: &Network) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let weights: HashMap<String, Tensor> =
        network.parameters().iter().map(|(name, parameter)| (name.clone(), parameter.as_tensor().clone())).collect();
    let model = folder.join("model.json");
    match std::fs::remove_file(&model) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&model, &error)),
        _ => (),
    }
    replace(&folder.join("weights.safetensors"), |path| {
        candle_core::safetensors::save(&weights, path).map_err(|error| failed(path, &error))
    })?;
    let text = serde_json::to_vec_pretty(description)?;
    replace(&model, |path| std::fs::write(path, text).map_err(|error| failed(path, &error)))
}

/// Reads a model that [`save`] wrote.
pub fn load(folder: &Path) -> Result<(Description, Network)> {
    let path = folder.join("model.json");
    let text = std::fs::read(&path).map_err(|error| failed(&path, &error))?;
    let description: Description = serde_json::from_slice(&text).map_err(|error| failed(&path, &error))?;
    if description.version != VERSION {
        return Err(format!("{}: version {}, not {VERSION}", path.display(), description.version).into());
    }
    if description.vocabulary.len() != description.sizes.vocabulary {
        let (tokens, size) = (description.vocabulary.len(), description.sizes.vocabulary);
        return Err(format!("{}: {tokens} tokens for a vocabulary of {size}", path.display()).into());
    }
    let path = folder.join("weights.safetensors");
    let weights = candle_core::safetensors::load(&path, &Device::Cpu).map_err(|error| failed(&path, &error))?;
    let mut parameters = Parameters::new();
    for (name, weight) in weights.into_iter().collect::<std::collections::BTreeMap<_, _>>() {
        parameters.insert(name, Var::from_tensor(&weight)?);
    }
    let network = Network::new(description.sizes, parameters).map_err(|error| failed(&path, &error))?;
    Ok((description, network))
}
