/**
 * The `sandbox` setting of sessions in tests that are not about the sandbox. They must do the same on all machines, so
 * their commands run without a sandbox, which also takes longer to start than most of them. With
 * `RETINUE_TEST_SANDBOX=on`, all of these commands run in the sandbox.
 */
export const sandboxSetting = process.env["RETINUE_TEST_SANDBOX"] === "on" ? "require" : "off";
