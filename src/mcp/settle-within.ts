/** Waits for the work, but not for longer than so many milliseconds. Never rejects. */
export async function settleWithin(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(timer);
}
