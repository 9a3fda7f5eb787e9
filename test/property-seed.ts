import fc from "fast-check";

/**
 * Property tests use the same seed in every run, so that a failure is caused by the change under test.
 * `RETINUE_TEST_SEED=random npm test` looks for new counterexamples; a number repeats one of those runs.
 */
const { RETINUE_TEST_SEED: seed = "20261117" } = process.env;
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });
