import { isReadingAwk } from "./awk-program.ts";
import { readFind } from "./find-expression.ts";
import { type ProgramUse, readOptions, programUse as use } from "./read-only-options.ts";
import { isLocalName, isSafeExport } from "./safe-variables.ts";
import { isReadingSed } from "./sed-script.ts";
import { fixedWord, type ShellWord } from "./shell-word.ts";

export function checkPrintf(given: readonly ShellWord[]): ProgramUse | undefined {
  const format = given[0];
  if (format === undefined || format.open !== undefined || !/^[^-]/.test(format.text)) return undefined;
  // `%n` sets a variable that an argument names.
  return /%[^A-Za-z%]*n/.test(format.text) ? undefined : use();
}

/** `-v` and `-R` evaluate a name; so no operator may come from a variable, and no word may turn into several. */
export function checkTest(given: readonly ShellWord[]): ProgramUse | undefined {
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

/** Options that only make a script stricter or tell what it does. */
export function checkSet(given: readonly ShellWord[]): ProgramUse | undefined {
  const strict = given.every(
    ({ text, open }) => open === undefined && /^([-+][eux]*o?|pipefail|errexit|nounset|xtrace)$/.test(text),
  );
  return strict && given.length > 0 ? use() : undefined;
}

export function checkExport(given: readonly ShellWord[]): ProgramUse | undefined {
  const safe = given.every(({ text, open }) => {
    const at = text.indexOf("=");
    return open === undefined && at > 0 && isSafeExport(text.slice(0, at), fixedWord(text.slice(at + 1)));
  });
  return safe && given.length > 0 ? use() : undefined;
}

export function checkRead(given: readonly ShellWord[]): ProgramUse | undefined {
  const fine = given.every(({ text, open }) => open === undefined && (text === "-r" || isLocalName(text)));
  return fine && given.length > 0 ? use() : undefined;
}

export function checkDate(given: readonly ShellWord[]): ProgramUse | undefined {
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

/** Without a dash, `e` would show the environment of every process. */
export function checkPs(given: readonly ShellWord[]): ProgramUse | undefined {
  const plain =
    /^(a?u?x?w{0,2}|axu|-[AaefFlxjwHTu]+|-p|-o|-eo|-ao|\d+|[a-z%]+(,[a-z%]+)*|--sort=[-+a-z%,]+|--no-headers|--forest)$/;
  const fields = given.some(({ text }) => /^-[ea]?o$/.test(text));
  const fine = given.every(
    ({ text, open }) =>
      open === undefined && plain.test(text) && (fields || /^[-\d]/.test(text) || /^(a?u?x?w{0,2}|axu)$/.test(text)),
  );
  return fine && !given.some(({ text }) => /environ/.test(text)) ? use() : undefined;
}

export function checkFind(given: readonly ShellWord[]): ProgramUse | undefined {
  const found = readFind([fixedWord("find"), ...given]);
  return found.understood ? use(found.paths) : undefined;
}

export function checkSed(given: readonly ShellWord[]): ProgramUse | undefined {
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

export function checkAwk(given: readonly ShellWord[]): ProgramUse | undefined {
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

export function checkJq(given: readonly ShellWord[]): ProgramUse | undefined {
  const spec = {
    flags: "rnscCMSaejR",
    long: "raw-output null-input slurp compact-output color-output monochrome-output sort-keys exit-status tab raw-input join-output arg= argjson= indent=",
    data: 1,
  };
  // Each of these takes a name and a value.
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

export function checkNpm(given: readonly ShellWord[]): ProgramUse | undefined {
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

/** Only the list of what is in an archive. A name with a colon would be fetched from another machine by a program. */
export function checkTar(given: readonly ShellWord[]): ProgramUse | undefined {
  const [mode, archive, ...members] = given;
  if (mode === undefined || archive === undefined || mode.open !== undefined || archive.open !== undefined)
    return undefined;
  if (!/^-?[tvzjJ]*f$/.test(mode.text) || !mode.text.includes("t") || /^-|:/.test(archive.text)) return undefined;
  return members.every(({ open, text }) => open === undefined && !text.startsWith("-")) ? use([archive]) : undefined;
}
