//! The commands over files.

use super::*;

/// Writes 240 URLs of 120 pages, `/view?id=N&s=M`, where s does nothing, and gives the path.
fn toy_site(folder: &Path) -> PathBuf {
    let path = folder.join("train.jsonl");
    let mut text = String::new();
    for i in 0..240 {
        let page = i % 120;
        let session = if i < 120 { String::new() } else { format!("&s=x{i}") };
        writeln!(text, r#"{{"url":"http://a.com/view?id={page}{session}","cluster":"{page}","site":"a.com"}}"#)
            .expect("text");
    }
    std::fs::write(&path, text).expect("written");
    path
}

fn run(words: &[&str]) -> Result<serde_json::Value> {
    match Arguments::try_parse_from(std::iter::once(&"seq2seq").chain(words))?.command {
        Command::Train(options) => train(&options),
        Command::Predict(options) => predict(&options),
    }
}

/// Trains with `seed` and predicts into `name`; gives the predictions.
fn predictions(folder: &Path, name: &str, seed: &str) -> String {
    let records = toy_site(folder);
    let (records, model) = (records.to_str().expect("UTF-8"), folder.join(name));
    let (model, out) = (model.to_str().expect("UTF-8"), folder.join(format!("{name}.tsv")));
    let sizes = ["--units", "24", "--embedding", "16", "--epochs", "30", "--seed", seed];
    run(&[&["train", records, "--model", model][..], &sizes].concat()).expect("trained");
    let test = folder.join("test.jsonl");
    std::fs::write(
        &test,
        "{\"url\":\"http://a.com/view?id=7000&s=y\"}\n{\"url\":\"http://a.com//view/?id=8\"}\n{\"url\":\"/\"}\n",
    )
    .expect("written");
    let words = ["predict", test.to_str().expect("UTF-8"), "--model", model, "--out", out.to_str().expect("UTF-8")];
    let figures = run(&words).expect("predicted");
    assert_eq!(figures["outcomes"]["urls"], 3);
    std::fs::read_to_string(out).expect("predictions")
}

#[test]
fn a_toy_site_is_learned_and_unseen_arguments_are_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = predictions(folder.path(), "a", "1");
    let expected =
        "http://a.com/view?id=7000&s=y\thttp://a.com/view?id=7000\nhttp://a.com//view/?id=8\thttp://a.com/view?id=8\n";
    assert_eq!(lines, format!("{expected}/\t/\n"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (predictions(folder.path(), "a", "5"), predictions(folder.path(), "b", "5"));
    assert_eq!(first, second);
    let read = |name: &str, file: &str| std::fs::read(folder.path().join(name).join(file)).expect("a file");
    assert_eq!(read("a", "model.json"), read("b", "model.json"));
    let weights = |name: &str| {
        let (_, network) = model::load(&folder.path().join(name)).expect("a model");
        let all =
            network.parameters().values().map(|p| p.flatten_all().and_then(|p| p.to_vec1::<f32>()).expect("numbers"));
        all.flatten().map(f32::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(weights("a"), weights("b"));
    predictions(folder.path(), "c", "6");
    assert_ne!(weights("a"), weights("c"), "another seed, other weights");
}

#[test]
fn damaged_models_are_errors_with_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    predictions(folder.path(), "a", "1");
    let model = folder.path().join("a");
    let error = |text: &str| {
        std::fs::write(model.join("model.json"), text).expect("written");
        model::load(&model).err().expect("damaged").to_string()
    };
    let good = std::fs::read_to_string(model.join("model.json")).expect("a description");
    assert!(error("{}").contains("model.json: missing field"));
    assert!(error(&good.replacen("\"version\": 1", "\"version\": 9", 1)).ends_with("model.json: version 9, not 1"));
    assert!(error(&good.replacen("\"units\": 24", "\"units\": 25", 1)).contains("weights.safetensors: parameter "));
    assert!(error(&good.replacen("\"arguments\": 2", "\"arguments\": 3", 1)).contains("tokens for a vocabulary of"));
    std::fs::write(model.join("weights.safetensors"), "no weights").expect("written");
    assert!(error(&good).contains("weights.safetensors: "));
    assert!(model::load(&folder.path().join("none")).err().expect("absent").to_string().contains("model.json"));
}

#[test]
fn bad_options_are_refused() {
    let parsed =
        |words: &[&str]| Arguments::try_parse_from([&["seq2seq", "train", "a", "--model", "b"], words].concat());
    assert!(parsed(&["--units", "1", "--rate", "0.5", "--function-share", "1", "--epochs", "1"]).is_ok());
    for words in [
        ["--units", "0"],
        ["--units", "18446744073709551615"],
        ["--embedding", "0"],
        ["--batch=-1", "--reversed"],
        ["--epochs", "0"],
        ["--rate", "x"],
        ["--rate", "0"],
        ["--rate", "inf"],
        ["--rate", "nan"],
        ["--rate=-1", "--reversed"],
        ["--function-share", "0"],
        ["--function-share", "1.1"],
        ["--function-share", "nan"],
        ["--decay", "1.5"],
        ["--clip", "0"],
    ] {
        assert!(parsed(&words).is_err(), "{words:?}");
    }
}

/// What is read stays, and a file of predictions is whole or absent.
#[test]
fn predictions_replace_no_input() {
    let folder = tempfile::tempdir().expect("a folder");
    predictions(folder.path(), "a", "1");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (test, model) = (path("test.jsonl"), path("a"));
    let before = std::fs::read_to_string(&test).expect("a file");
    for out in [test.clone(), path("./test.jsonl"), path("a/model.json")] {
        let error = run(&["predict", &test, "--model", &model, "--out", &out]).expect_err("it is read").to_string();
        assert!(error.contains("it is read"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&test).expect("a file"), before);
    assert!(run(&["predict", &test, "--model", &model, "--out", &path("none/p.tsv")]).is_err());
    let names = |name: &str| {
        let entries = std::fs::read_dir(folder.path().join(name)).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect::<Vec<_>>()
    };
    assert!(names("").iter().chain(&names("a")).all(|name| !name.ends_with(".part")));
}

/// A training that ends between its two files leaves no model, instead of the description of an earlier
/// one.
#[test]
fn weights_without_their_description_are_no_model() {
    let folder = tempfile::tempdir().expect("a folder");
    predictions(folder.path(), "a", "1");
    let model = folder.path().join("a");
    let (description, network) = model::load(&model).expect("a model");
    std::fs::remove_file(model.join("weights.safetensors")).expect("removed");
    std::fs::create_dir(model.join("weights.safetensors")).expect("made");
    assert!(model::save(&model, &description, &network).is_err());
    assert!(model::load(&model).err().expect("no model").to_string().contains("model.json"));
}
