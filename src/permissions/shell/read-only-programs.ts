import {
  checkAwk,
  checkDate,
  checkExport,
  checkFind,
  checkJq,
  checkNpm,
  checkPrintf,
  checkPs,
  checkRead,
  checkSed,
  checkSet,
  checkTar,
  checkTest,
} from "./read-only-checks.ts";
import { type ProgramSpec, programUse as use } from "./read-only-options.ts";

const harmless: ProgramSpec = { anyOption: true, data: "all" };
const reader: ProgramSpec = { anyOption: true };

const split = (text: string): string[] => text.split(" ");

export const programs: ReadonlyMap<string, ProgramSpec> = new Map<string, ProgramSpec>([
  ...split(
    "echo true false : pwd seq sleep expr uname whoami id groups nproc arch tty exit return break continue wait jobs dirs basename dirname uptime free logname cal yes shift",
  ).map((name) => [name, harmless] as const),
  ...split(
    "cat ls dir head tail wc tac rev nl od hexdump strings join comm cmp fold expand unexpand fmt cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum md5 shasum stat readlink realpath df du tsort colrm",
  ).map((name) => [name, reader] as const),
  ...split("grep egrep fgrep").map(
    (name) =>
      [
        name,
        { anyOption: true, valued: "ABCDdefm", pathValued: "f", data: 1, dataBy: /^(-[A-Za-z]*[ef]|--(regexp|file))/ },
      ] as const,
  ),
  ["cut", { anyOption: true, valued: "dfbc" }],
  ["paste", { anyOption: true, valued: "d" }],
  ["column", { anyOption: true, valued: "stoNRHTdc" }],
  ["which", harmless],
  ["whereis", harmless],
  ["type", harmless],
  ["tr", harmless],
  ["numfmt", harmless],
  ["diff", reader],
  ["printf", { check: checkPrintf }],
  ["command", { check: (given) => (/^-[vV]$/.test(given[0]?.text ?? "") ? use() : undefined) }],
  ["test", { check: checkTest }],
  ["[", { check: (given) => (given.at(-1)?.text === "]" ? checkTest(given.slice(0, -1)) : undefined) }],
  [
    "cd",
    {
      check: (given) =>
        given.length === 1 && given[0]!.open === undefined && /^[^-]/.test(given[0]!.text) ? use(given) : undefined,
    },
  ],
  ["set", { check: checkSet }],
  ["export", { check: checkExport }],
  ["read", { check: checkRead }],
  ["hostname", { maxOperands: 0, flags: "s" }],
  ["date", { check: checkDate }],
  ["ps", { check: checkPs }],
  [
    "tee",
    {
      check: (given) =>
        given.every(({ text, open }) => open === undefined && text === "/dev/null") ? use() : undefined,
    },
  ],
  ["find", { check: checkFind }],
  ["sed", { check: checkSed }],
  ["awk", { check: checkAwk }],
  ["gawk", { check: checkAwk }],
  ["mawk", { check: checkAwk }],
  ["jq", { check: checkJq }],
  ["npm", { check: checkNpm }],
  [
    "sort",
    {
      flags: "bdfghiMnRrVcCmsuz",
      valued: "kt",
      long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse version-sort check check= merge stable unique zero-terminated key= field-separator= sort= parallel=",
    },
  ],
  [
    "uniq",
    {
      flags: "cdDiuz",
      valued: "fsw",
      long: "count repeated all-repeated all-repeated= unique ignore-case zero-terminated skip-fields= skip-chars= check-chars=",
      maxOperands: 1,
    },
  ],
  ["xxd", { flags: "abEeipuC", valued: "cglos", strict: true, maxOperands: 1 }],
  ["base64", { flags: "dD", valued: "w", long: "decode wrap= ignore-garbage", maxOperands: 1 }],
  ["base32", { flags: "d", valued: "w", long: "decode wrap= ignore-garbage", maxOperands: 1 }],
  [
    "file",
    {
      flags: "biIhLkNnr0",
      long: "brief mime mime-type mime-encoding dereference no-dereference keep-going raw extension",
    },
  ],
  [
    "tree",
    {
      flags: "adfilnrstcvxhpugDFQNACSJX",
      valued: "LIP",
      long: "noreport dirsfirst filesfirst prune gitignore si du inodes device matchdirs ignore-case filelimit= charset=",
    },
  ],
  ["tar", { check: checkTar }],
  [
    "unzip",
    {
      check: (given) =>
        given.length === 2 && given[0]!.text === "-l" && given[1]!.open === undefined && /^[^-]/.test(given[1]!.text)
          ? use([given[1]!])
          : undefined,
    },
  ],
  [
    "fd",
    {
      flags: "HIsiagFpL0u1q",
      valued: "dtecE",
      long: "hidden no-ignore case-sensitive ignore-case glob fixed-strings full-path follow absolute-path max-depth= min-depth= exact-depth= type= extension= exclude= color= size= changed-within= changed-before= print0 max-results= unrestricted",
      data: 1,
    },
  ],
  [
    "rg",
    {
      flags: "nilcvwFosSuHIpPqxULN0aV.",
      valued: "ABCegtTmdjMrE",
      dataBy: /^(-[A-Za-z]*e|--(regexp|files|type-list))/,
      data: 1,
      long: "line-number ignore-case files-with-matches files-without-match count count-matches invert-match word-regexp fixed-strings only-matching case-sensitive smart-case unrestricted with-filename no-filename pretty pcre2 quiet line-regexp multiline multiline-dotall no-line-number null text heading no-heading hidden no-ignore no-ignore-vcs follow files json stats trim column vimgrep type-list sort= sortr= color= colors= glob= iglob= type= type-not= regexp= after-context= before-context= context= max-count= max-depth= maxdepth= max-columns= max-filesize= threads= replace= encoding= no-config no-messages passthru version one-file-system",
    },
  ],
]);

/**
 * Programs that may be asked for their version, and the words they understand as the question. Those that look into the
 * project first for another version of themselves to run (go, cargo, yarn, pnpm) are not here.
 */
export const versionTellers: ReadonlyMap<string, RegExp> = new Map([
  ...split("node npm npx deno bun").map((name) => [name, /^(--version|-v)$/] as const),
  ...split(
    "python python3 pip pip3 ruby perl php gcc g++ clang cc make cmake java docker gh rg jq curl wget bash tar sed grep awk gawk find sort",
  ).map((name) => [name, /^--version$/] as const),
]);
