//! Integration tests: one binary, a module a part of the house.
#[path = "it/apply_cases.rs"]
mod apply_cases;
#[path = "it/apply_fuzz.rs"]
mod apply_fuzz;
#[path = "it/apply_laws.rs"]
mod apply_laws;
#[path = "it/apply_rules.rs"]
mod apply_rules;
#[path = "it/baselines_compare.rs"]
mod baselines_compare;
#[path = "it/baselines_costs.rs"]
mod baselines_costs;
#[path = "it/baselines_figures.rs"]
mod baselines_figures;
#[path = "it/baselines_live.rs"]
mod baselines_live;
#[path = "it/baselines_outside.rs"]
mod baselines_outside;
#[path = "it/ciff_bad.rs"]
mod ciff_bad;
#[path = "it/ciff_fuzz.rs"]
mod ciff_fuzz;
#[path = "it/ciff_jobs.rs"]
mod ciff_jobs;
#[path = "it/ciff_memory.rs"]
mod ciff_memory;
#[path = "it/ciff_support.rs"]
mod ciff_support;
#[path = "it/cluster_jobs.rs"]
mod cluster_jobs;
#[path = "it/cluster_launch.rs"]
mod cluster_launch;
#[path = "it/cluster_learn.rs"]
mod cluster_learn;
#[path = "it/cluster_mesh.rs"]
mod cluster_mesh;
#[path = "it/cluster_support.rs"]
mod cluster_support;
#[path = "it/dataflow_alone.rs"]
mod dataflow_alone;
#[path = "it/dataflow_learn.rs"]
mod dataflow_learn;
#[path = "it/dataflow_support.rs"]
mod dataflow_support;
#[path = "it/dataflow_walk.rs"]
mod dataflow_walk;
#[path = "it/evaluate.rs"]
mod evaluate;
#[path = "it/examples.rs"]
mod examples;
#[path = "it/exports_parsers.rs"]
mod exports_parsers;
#[path = "it/exports_read.rs"]
mod exports_read;
#[path = "it/formats_fuzz.rs"]
mod formats_fuzz;
#[path = "it/formats_index.rs"]
mod formats_index;
#[path = "it/formats_jobs.rs"]
mod formats_jobs;
#[path = "it/formats_support.rs"]
mod formats_support;
#[path = "it/formats_warc.rs"]
mod formats_warc;
#[path = "it/fuzz_readers.rs"]
mod fuzz_readers;
#[path = "it/fuzz_replay.rs"]
mod fuzz_replay;
#[path = "it/held_out.rs"]
mod held_out;
#[path = "it/house.rs"]
mod house;
#[path = "it/io_reader.rs"]
mod io_reader;
#[path = "it/io_shards.rs"]
mod io_shards;
#[path = "it/jobs_evaluate.rs"]
mod jobs_evaluate;
#[path = "it/jobs_explain.rs"]
mod jobs_explain;
#[path = "it/jobs_export.rs"]
mod jobs_export;
#[path = "it/jobs_extend.rs"]
mod jobs_extend;
#[path = "it/jobs_generate.rs"]
mod jobs_generate;
#[path = "it/jobs_help.rs"]
mod jobs_help;
#[path = "it/jobs_inputs.rs"]
mod jobs_inputs;
#[path = "it/jobs_interrupt.rs"]
mod jobs_interrupt;
#[path = "it/jobs_learn_faults.rs"]
mod jobs_learn_faults;
#[path = "it/jobs_mistakes.rs"]
mod jobs_mistakes;
#[path = "it/jobs_normalize.rs"]
mod jobs_normalize;
#[path = "it/jobs_platforms.rs"]
mod jobs_platforms;
#[path = "it/jobs_previous.rs"]
mod jobs_previous;
#[path = "it/jobs_prove.rs"]
mod jobs_prove;
#[path = "it/jobs_report.rs"]
mod jobs_report;
#[path = "it/jobs_result.rs"]
mod jobs_result;
#[path = "it/jobs_rules.rs"]
mod jobs_rules;
#[path = "it/jobs_run.rs"]
mod jobs_run;
#[path = "it/jobs_set.rs"]
mod jobs_set;
#[path = "it/jobs_terminal.rs"]
mod jobs_terminal;
#[path = "it/jobs_watched.rs"]
mod jobs_watched;
#[path = "it/keys_laws.rs"]
mod keys_laws;
#[path = "it/learner_cases.rs"]
mod learner_cases;
#[path = "it/learner_hints.rs"]
mod learner_hints;
#[path = "it/learner_laws.rs"]
mod learner_laws;
#[path = "it/learner_site.rs"]
mod learner_site;
#[path = "it/learner_thresholds.rs"]
mod learner_thresholds;
#[path = "it/mesh_edges.rs"]
mod mesh_edges;
#[path = "it/profile.rs"]
mod profile;
#[path = "it/prometheus_text.rs"]
mod prometheus_text;
#[path = "it/published_figures.rs"]
mod published_figures;
#[path = "it/published_learn.rs"]
mod published_learn;
#[path = "it/readme_examples.rs"]
mod readme_examples;
#[path = "it/rule_file.rs"]
mod rule_file;
#[path = "it/rules_packed.rs"]
mod rules_packed;
#[path = "it/rules_shared.rs"]
mod rules_shared;
#[path = "it/schemas.rs"]
mod schemas;
#[path = "it/scripts.rs"]
mod scripts;
#[path = "it/synth.rs"]
mod synth;
#[path = "it/synth_traps.rs"]
mod synth_traps;
#[path = "it/url_fuzz.rs"]
mod url_fuzz;
#[path = "it/url_safe.rs"]
mod url_safe;
#[path = "it/url_suites.rs"]
mod url_suites;
