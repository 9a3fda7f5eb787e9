import type { ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, unknownArgument, unknownCode } from "./effects.ts";
import { type ArgumentReading, each, type ProgramSpec, withOptions } from "./model.ts";

/** Programs whose unknown options may send or store anything. */
const network: ProgramSpec = { does: "network", isPowerful: true, operands: "network*" };

export const systemTools: readonly (readonly [string, ProgramSpec])[] = [
  ["uname", { inert: true, operands: "", options: "-a -s -n -r -v -m -p -i -o" }],
  ["whoami", { inert: true, operands: "" }],
  ["id", { inert: true, operands: "", options: "-g -G -n -r -u" }],
  ["hostname", { operands: "change*", options: "-s -f|--fqdn!network -i!network -F|--file=change" }],
  withOptions(
    "date",
    "-d|--date=data -I[=data] --iso-8601[=data] -R --rfc-3339=data -r|--reference=list -s|--set=change -u|--utc",
    { operands: "data*", check: checkDate },
  ),
  // The programs below run without approval only in a sandbox.
  ...each("logname arch groups tty nproc uptime free cal lscpu lsblk vmstat getconf locale sw_vers whereis", {
    operands: "data*",
  }),
  ["ps", { read: readPs }],
  ...each("pgrep pstree lsof top w who last ldd nm objdump readelf size dpkg-query", {}),
  ["lastlog", { options: "-C|--clear!change -S|--set!change" }],
  [
    "dmesg",
    { options: "-c|--read-clear!change -C|--clear!change -D|--console-off!change -E|--console-on!change -n=change" },
  ],
  withOptions(
    "journalctl",
    "--vacuum-size=change --vacuum-time=change --vacuum-files=change --rotate!change --flush!change --sync!change",
  ),
  withOptions(
    "dpkg",
    "-l -L -s -S -i|--install!change -r|--remove!change -P|--purge!change --unpack!change --configure!change -a!change",
  ),
  withOptions(
    "man",
    "-P|--pager=program -H|--html[=program]!program -C|--config-file=settings -X[=data]!program -p|--preprocessor=data -M|--manpath=settings",
    { operands: "data*" },
  ),
  ...each("apropos whatis info tldr", { operands: "data*" }),
  ...each("curl wget rsync scp sftp ftp nc ncat telnet", network),
];

/** An operand of date that does not begin with `+` sets the clock. */
function checkDate({ operands }: ArgumentReading): Effects {
  return operands.flatMap(({ word, at }): CommandEffect[] => {
    if (word.lead.startsWith("+")) return [];
    if (word.open !== undefined) return [unknownArgument("only the shell knows whether date sets the clock", at)];
    return [{ kind: "change", reason: "date would set the clock", at }];
  });
}

/** Many combinations of options of ps show the environment of every process, so a rule covers only the usual ones. */
function readPs(words: readonly ShellWord[]): Effects {
  const given = words.slice(1).map(({ text }) => text);
  const isUsual = given.length === 0 || (given.length === 1 && /^(-e|-ef|-A|-f|-?aux|auxww|axu)$/.test(given[0]!));
  return isUsual ? [] : [unknownCode("ps may show the environment of processes, which may contain secrets", 0)];
}
