import fc from "fast-check";

/**
 * Properties use the same seed in every run, so that a failing test says something about the change that is tested.
 * `RETINUE_TEST_SEED=random npm test` looks for new counterexamples; a number repeats one of those runs.
 */
const { RETINUE_TEST_SEED: seed = "20261117" } = process.env;
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });
