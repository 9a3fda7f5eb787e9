// Loaded with --import: writes what the process used to the file named by RETINUE_BENCH_USAGE when it exits.
import { readFileSync, writeFileSync } from "node:fs";

process.on("exit", () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  // The kernel's own peak of this program; getrusage would count what its parent had before the fork.
  const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  const used = { cpuMs: (userCPUTime + systemCPUTime) / 1000, rssMb: Number(peak) / 1024 };
  writeFileSync(process.env.RETINUE_BENCH_USAGE, JSON.stringify(used));
});
