const argv = process.argv.slice(2);

if (argv[0] === "--help" || argv[0] === "-h") {
  const { helpFor } = await import("./help/help.ts");
  process.stdout.write(helpFor("retinue"));
} else {
  const { runCommand } = await import("./run-command.ts");
  await runCommand(argv);
}
