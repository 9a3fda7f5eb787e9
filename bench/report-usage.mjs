// Loaded with --import. When the process exits, writes its processor time and peak memory to RETINUE_BENCH_USAGE.
import { readFileSync, writeFileSync } from "node:fs";

process.on("exit", () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  // The kernel's peak value for this program. getrusage would include the parent's memory from before the fork.
  const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  const used = { cpuMs: (userCPUTime + systemCPUTime) / 1000, rssMb: Number(peak) / 1024 };
  writeFileSync(process.env.RETINUE_BENCH_USAGE, JSON.stringify(used));
});
