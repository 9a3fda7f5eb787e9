import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";

/** Reporter that ends a test run with the numbers of tests, and says what the skipped ones would have needed. */
export class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (wanted: string) => tests.filter((test) => test.result().state === wanted);
    const skipped = inState("skipped");
    // Errors outside of tests count too: in files that can't be loaded, in hooks, and in code that runs after its test.
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const failed = [...inState("failed"), ...suites.flatMap((suite) => suite.errors()), ...unhandled];
    console.log(`${inState("passed").length} passed, ${failed.length} failed, ${skipped.length} skipped`);
    const counts = new Map<string, number>();
    for (const test of skipped) {
      const reason = reasonOf(test);
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    for (const [reason, count] of [...counts].sort(([, one], [, other]) => other - one))
      console.log(`  skipped: ${count} × ${reason}`);
  }
}

function reasonOf(test: TestCase): string {
  for (let task: TestCase | TestSuite | TestModule = test; task.type !== "module"; task = task.parent) {
    const { missing } = task.meta();
    if (missing !== undefined) return `needs ${missing}`;
  }
  const result = test.result();
  return (result.state === "skipped" && result.note) || "without a reason";
}
