// Loaded with --import: writes what the process used to the file named by RETINUE_BENCH_USAGE when it exits.
import { writeFileSync } from "node:fs";

process.on("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeFileSync(
    process.env.RETINUE_BENCH_USAGE,
    JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1000, rssMb: maxRSS / 1024 }),
  );
});
