import fc from "fast-check";

/**
 * Property tests use the same seed in every run, so that a failure is caused by the change under test. Repeating the same
 * examples finds nothing new, so there are fewer of them than fast-check's 100. `RETINUE_TEST_SEED=random npm test` looks
 * for new counterexamples; a number repeats one of those runs.
 */
const { RETINUE_TEST_SEED: seed } = process.env;
if (seed === undefined) fc.configureGlobal({ seed: 20_261_117, numRuns: 40 });
else if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });
