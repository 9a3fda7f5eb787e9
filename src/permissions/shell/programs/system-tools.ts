import type { ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, unknownArgument, unknownCode } from "./effects.ts";
import { type ArgumentReading, each, type ProgramSpec } from "./model.ts";

/** Programs whose unknown options may send or store anything. */
const network: ProgramSpec = { does: "network", isPowerful: true, operands: "network*" };

/**
 * Creates the spec of a program that is treated as read-only in a sandbox, except with those of its `options` that are
 * marked as changing something. Without a sandbox, the program is never treated as read-only.
 */
function looking(options = ""): ProgramSpec {
  return { onlySandboxed: "this program has options that change or reveal something", options };
}

export const systemTools: readonly (readonly [string, ProgramSpec])[] = [
  [
    "uname",
    {
      inert: true,
      operands: "",
      options:
        "-a|--all -s|--kernel-name -n|--nodename -r|--kernel-release -v|--kernel-version -m|--machine -p|--processor -i|--hardware-platform -o|--operating-system --help --version",
    },
  ],
  ...each("whoami logname arch groups tty", {
    inert: true,
    operands: "data*",
    options: "-s|--silent|--quiet --help --version",
  }),
  [
    "id",
    {
      inert: true,
      operands: "data*",
      options:
        "-a -Z|--context -g|--group -G|--groups -n|--name -r|--real -u|--user -z|--zero -p -P -F --help --version",
    },
  ],
  ["nproc", { inert: true, operands: "", options: "--all --ignore=data --help --version" }],
  ["uptime", { inert: true, operands: "", options: "-p|--pretty -s|--since -h|--help -V|--version" }],
  [
    "free",
    {
      inert: true,
      operands: "",
      options:
        "-b|--bytes -k|--kibi -m|--mebi -g|--gibi --tebi --kilo --mega --giga --tera -h|--human --si -l|--lohi -t|--total -s|--seconds=data -c|--count=data -w|--wide -v|--committed --help -V|--version",
    },
  ],
  [
    "cal",
    {
      inert: true,
      operands: "data*",
      options:
        "-1|--one -3|--three -n|--months=data -S|--span -s|--sunday -m|--monday -j|--julian -y|--year -Y|--twelve -w|--week[=data] --color[=data] -h|--help -V|--version",
    },
  ],
  ["hostname", { operands: "change*", options: "-s|--short -F|--file=change -f|--fqdn!network -i!network -I" }],
  [
    "lscpu",
    {
      operands: "",
      options:
        "-a|--all -b|--online -c|--offline -e|--extended[=data] -p|--parse[=data] -J|--json -x|--hex -B|--bytes -V -h",
    },
  ],
  [
    "lsblk",
    {
      operands: "list*",
      options:
        "-a|--all -b|--bytes -d|--nodeps -f|--fs -i|--ascii -J|--json -l|--list -m|--perms -n|--noheadings -o|--output=data -O -p|--paths -P|--pairs -r|--raw -S|--scsi -t|--topology",
    },
  ],
  ["vmstat", { operands: "data*", options: "-a -f -m -n -s -d -D -t -w -S=data" }],
  ["getconf", { operands: "data list", options: "-a -v=data" }],
  ["locale", { operands: "data*", options: "-a|--all-locales -m|--charmaps -c -k -v" }],
  [
    "sw_vers",
    {
      operands: "",
      options: "-productName -productVersion -buildVersion --productName --productVersion --buildVersion",
    },
  ],
  [
    "date",
    {
      operands: "data*",
      options:
        "-d|--date=data --debug -f|--file=read -I[=data] --iso-8601[=data] -R|--rfc-email --rfc-3339=data -r|--reference=list -s|--set=change -u|--utc|--universal --resolution --help --version -j -n -v=data",
      check: checkDate,
    },
  ],
  ["ps", { read: readPs }],
  ...each("pgrep pstree lsof top w who last ldd nm objdump readelf size dpkg-query", looking()),
  ["lastlog", looking("-C|--clear!change -S|--set!change")],
  [
    "dmesg",
    looking("-c|--read-clear!change -C|--clear!change -D|--console-off!change -E|--console-on!change -n=change"),
  ],
  [
    "journalctl",
    looking(
      "--vacuum-size=change --vacuum-time=change --vacuum-files=change --rotate!change --flush!change --sync!change",
    ),
  ],
  [
    "dpkg",
    looking(
      "-l -L -s -S -i|--install!change -r|--remove!change -P|--purge!change --unpack!change --configure!change -a!change",
    ),
  ],
  [
    "man",
    {
      onlySandboxed: "man runs other programs to show a page",
      operands: "data*",
      options:
        "-P|--pager=program -H|--html[=program]!program -C|--config-file=settings -l|--local-file -k|--apropos -f|--whatis -w|--where|--path -a|--all -K -t -X[=data]!program -p|--preprocessor=data -M|--manpath=settings",
    },
  ],
  ...each("apropos whatis info tldr", {
    onlySandboxed: "the program may run others to show a page",
    operands: "data*",
  }),
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

/**
 * Reads the arguments of `ps`. Without a dash, `e` shows the environment of every process. If ps can't parse its
 * options, it reads them again as if they had no dashes, so `-e` is accepted only with other options that ps can parse
 * together with it.
 */
function readPs(words: readonly ShellWord[]): Effects {
  const given = words.slice(1).map(({ text, open }) => (open === undefined ? text : "?"));
  const isValue = (index: number): boolean => {
    const [before = "", text = ""] = [given[index - 1], given[index]];
    if (/^-[AaefFljwH]*o$/.test(before)) return /^[a-z%]+(,[a-z%]+)*=?$/.test(text) && !/environ/.test(text);
    return before === "-p" ? /^\d+(,\d+)*$/.test(text) : before === "-u" && /^(\d+|root)$/.test(text);
  };
  const letters = given.some((text) => /^-[A-Za-z]*e/.test(text)) ? /^-[AaefFljwH]+o?$/ : /^-[AaefFljwHTux]+o?$|^-o$/;
  const plain = /^(-p|-o|a?u?x?w{0,2}|axu|\d+|--sort=[-+a-z%,]+|--no-headers|--forest)$/;
  const isKnown = given.every((text, index) => isValue(index) || letters.test(text) || plain.test(text));
  return isKnown ? [] : [unknownCode("ps may show the environment of processes, which may contain secrets", 0)];
}
