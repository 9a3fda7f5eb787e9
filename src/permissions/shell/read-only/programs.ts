import { readFind } from "../find-expression.ts";
import { isLocalName, isSafeExport } from "../safe-variables.ts";
import { fixedWord, type ShellWord } from "../shell-word.ts";
import { type ProgramSpec, type ProgramUse, readOptions, programUse as use } from "./options.ts";
import { isReadingAwk, isReadingSed } from "./sed-awk.ts";

const harmless: ProgramSpec = { anyOption: true, data: "all" };
const reader: ProgramSpec = { anyOption: true };

const split = (text: string): string[] => text.split(" ");

/** Programs that can be called without changing anything, and the arguments that are harmless for each. */
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
 * Programs that may be asked for their version, and the option each one takes for it. Programs that first look in the
 * project for another version of themselves to run (go, cargo, yarn, pnpm) are left out.
 */
export const versionOptions: ReadonlyMap<string, RegExp> = new Map([
  ...split("node npm npx deno bun").map((name) => [name, /^(--version|-v)$/] as const),
  ...split(
    "python python3 pip pip3 ruby perl php gcc g++ clang cc make cmake java docker gh rg jq curl wget bash tar sed grep awk gawk find sort",
  ).map((name) => [name, /^--version$/] as const),
]);

function checkPrintf(given: readonly ShellWord[]): ProgramUse | undefined {
  const format = given[0];
  if (format === undefined || format.open !== undefined || !/^[^-]/.test(format.text)) return undefined;
  // `%n` sets the variable named by an argument.
  return /%[^A-Za-z%]*n/.test(format.text) ? undefined : use();
}

/** Checks `test`. `-v` and `-R` evaluate a name, so no operator may come from a variable and no word may split. */
function checkTest(given: readonly ShellWord[]): ProgramUse | undefined {
  if (given.some(({ splits }) => splits)) return undefined;
  const rest = given[0]?.text === "!" && given[0].open === undefined ? given.slice(1) : given;
  const operator = rest.length === 3 ? rest[1] : rest[0];
  if (rest.length === 0) return use();
  if (operator?.open !== undefined) return rest.length === 1 ? use() : undefined;
  if (rest.length === 1) return use();
  const known =
    rest.length === 2 ? /^-[abcdefghkprstuwxzGLNOSn]$/ : /^(=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/;
  return rest.length <= 3 && known.test(operator!.text) ? use() : undefined;
}

/** Allows options that only make a script stricter or trace it. */
function checkSet(given: readonly ShellWord[]): ProgramUse | undefined {
  const strict = given.every(
    ({ text, open }) => open === undefined && /^([-+][eux]*o?|pipefail|errexit|nounset|xtrace)$/.test(text),
  );
  return strict && given.length > 0 ? use() : undefined;
}

function checkExport(given: readonly ShellWord[]): ProgramUse | undefined {
  const safe = given.every(({ text, open }) => {
    const at = text.indexOf("=");
    return open === undefined && at > 0 && isSafeExport(text.slice(0, at), fixedWord(text.slice(at + 1)));
  });
  return safe && given.length > 0 ? use() : undefined;
}

function checkRead(given: readonly ShellWord[]): ProgramUse | undefined {
  const fine = given.every(({ text, open }) => open === undefined && (text === "-r" || isLocalName(text)));
  return fine && given.length > 0 ? use() : undefined;
}

function checkDate(given: readonly ShellWord[]): ProgramUse | undefined {
  for (let index = 0; index < given.length; index += 1) {
    const { text, lead } = given[index]!;
    if (lead.startsWith("+") || /^--(date|iso-8601|rfc-3339)=/.test(lead)) continue;
    if (given[index]!.open !== undefined) return undefined;
    if (/^(-[uR]+|-I[a-z]*|--utc|--universal|--rfc-email|--iso-8601)$/.test(text)) continue;
    if (text !== "-d" && text !== "--date") return undefined;
    index += 1;
    if (given[index]?.splits !== false) return undefined;
  }
  return use();
}

/** Checks `ps`. Without a dash, `e` shows the environment of every process. */
function checkPs(given: readonly ShellWord[]): ProgramUse | undefined {
  const plain =
    /^(a?u?x?w{0,2}|axu|-[AaefFlxjwHTu]+|-p|-o|-eo|-ao|\d+|[a-z%]+(,[a-z%]+)*|--sort=[-+a-z%,]+|--no-headers|--forest)$/;
  const fields = given.some(({ text }) => /^-[ea]?o$/.test(text));
  const fine = given.every(
    ({ text, open }) =>
      open === undefined && plain.test(text) && (fields || /^[-\d]/.test(text) || /^(a?u?x?w{0,2}|axu)$/.test(text)),
  );
  return fine && !given.some(({ text }) => /environ/.test(text)) ? use() : undefined;
}

function checkFind(given: readonly ShellWord[]): ProgramUse | undefined {
  const found = readFind([fixedWord("find"), ...given]);
  return found.understood ? use(found.paths) : undefined;
}

function checkSed(given: readonly ShellWord[]): ProgramUse | undefined {
  const scripts: ShellWord[] = [];
  const operands: ShellWord[] = [];
  for (let index = 0; index < given.length; index += 1) {
    const word = given[index]!;
    if (!/^[^-]/.test(word.lead) && word.open !== undefined) return undefined;
    const { text } = word;
    const glued = /^(?:-[nErsuz]*e|--expression=)(.+)$/s.exec(text);
    if (!text.startsWith("-") || text === "-") operands.push(word);
    else if (glued !== null) scripts.push({ ...word, text: glued[1]! });
    else if (/^(-[nErsuz]*e|--expression)$/.test(text)) {
      index += 1;
      if (given[index] === undefined) return undefined;
      scripts.push(given[index]!);
    } else if (
      !/^(-[nErsuz]+|--(quiet|silent|regexp-extended|null-data|separate|unbuffered|posix|sandbox|debug))$/.test(text)
    )
      return undefined;
  }
  if (scripts.length === 0) {
    const script = operands.shift();
    if (script === undefined) return undefined;
    scripts.push(script);
  }
  return scripts.every(({ text, open }) => open === undefined && isReadingSed(text)) ? use(operands) : undefined;
}

function checkAwk(given: readonly ShellWord[]): ProgramUse | undefined {
  let index = 0;
  for (; index < given.length; index += 1) {
    const { text, open, lead } = given[index]!;
    if (open !== undefined && !/^-v\w+=/.test(lead)) return undefined;
    if (!text.startsWith("-") || text === "-") break;
    if (/^-(F|v\w+=).+$/s.test(text)) continue;
    if (text !== "-F" && text !== "-v") return undefined;
    index += 1;
    const value = given[index];
    if (value === undefined || value.splits || (value.open !== undefined && !/^\w+=/.test(value.lead)))
      return undefined;
  }
  const program = given[index];
  if (program === undefined || program.open !== undefined || !isReadingAwk(program.text)) return undefined;
  return use(given.slice(index + 1));
}

function checkJq(given: readonly ShellWord[]): ProgramUse | undefined {
  const spec = {
    flags: "rnscCMSaejR",
    long: "raw-output null-input slurp compact-output color-output monochrome-output sort-keys exit-status tab raw-input join-output arg= argjson= indent=",
    data: 1,
  };
  // `--arg` and `--argjson` take a name and a value.
  const plain: ShellWord[] = [];
  for (let index = 0; index < given.length; index += 1) {
    if (/^--arg(json)?$/.test(given[index]!.text)) index += 2;
    else plain.push(given[index]!);
  }
  if (
    plain.some(
      ({ open, text, lead }) =>
        (open !== undefined && !/^[^-]/.test(lead)) || /(^|[^.\w])env\b|\$ENV|\b(include|import)\b/.test(text),
    )
  )
    return undefined;
  return readOptions(spec, plain);
}

function checkNpm(given: readonly ShellWord[]): ProgramUse | undefined {
  const [command, ...rest] = given.map(({ text, open }) => (open === undefined ? text : "?"));
  if (!["ls", "list", "ll", "la", "root", "prefix", "bin"].includes(command ?? "")) return undefined;
  return rest.every((word) =>
    /^(--(all|json|long|parseable|global|depth=\d+|omit=dev|prod|production)|-[gal]|--depth|\d+|@?\w[\w.-]*(\/[\w.-]+)?(@[\w.^~-]+)?)$/.test(
      word,
    ),
  )
    ? use()
    : undefined;
}

/**
 * Allows only listing an archive. For a name with a colon, tar would run a program that fetches it from another host.
 */
function checkTar(given: readonly ShellWord[]): ProgramUse | undefined {
  const [mode, archive, ...members] = given;
  if (mode === undefined || archive === undefined || mode.open !== undefined || archive.open !== undefined)
    return undefined;
  if (!/^-?[tvzjJ]*f$/.test(mode.text) || !mode.text.includes("t") || /^-|:/.test(archive.text)) return undefined;
  return members.every(({ open, text }) => open === undefined && !text.startsWith("-")) ? use([archive]) : undefined;
}
