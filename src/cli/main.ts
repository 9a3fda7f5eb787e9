const argv = process.argv.slice(2);

if (argv[0] === "--help" || argv[0] === "-h") {
  const { helpFor } = await import("./help.ts");
  process.stdout.write(helpFor("retinue"));
} else {
  // Loads while the words are still being read; who runs it reports what goes wrong with it.
  if (argv.includes("-p") || argv.includes("--print")) import("./print-run.ts").catch(() => undefined);
  const { runCommand } = await import("./run-command.ts");
  await runCommand(argv);
}
