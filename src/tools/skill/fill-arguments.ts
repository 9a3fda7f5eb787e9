/** The arguments go where `$ARGUMENTS` stands, else to the end. Nothing in them is interpreted. */
export function fillArguments(body: string, args: string): string {
  const given = args.trim();
  let stands = false;
  const filled = body.replace(placeholder, () => {
    stands = true;
    return given;
  });
  return stands || given === "" ? filled : `${body.trimEnd()}\n\nArguments: ${given}`;
}

/** Not the longer name that begins like it, nor one argument of several. */
const placeholder = /\$ARGUMENTS(?![\w[])/g;
