const KEY = "retinue-token";
const TOKEN = /^#([\w-]{43})$/;
/** Time to wait for an answer from another tab. */
const ANSWER_MS = 300;

/**
 * Returns the server's token: from the link, which is then removed from the address bar, from before a reload, or from
 * another tab with this page. Undefined if there is none.
 */
export async function signIn(): Promise<string | undefined> {
  const given = TOKEN.exec(location.hash)?.[1];
  if (given !== undefined) history.replaceState(null, "", "/");
  const token = given ?? sessionStorage.getItem(KEY) ?? (await askOtherTabs());
  if (token === undefined) return undefined;
  sessionStorage.setItem(KEY, token);
  tellOtherTabs(token);
  return token;
}

/** Forgets a token that the server no longer accepts. When another tab has a new one, reloads the page with it. */
export function signOut(): () => void {
  const refused = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  const channel = new BroadcastChannel(KEY);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data !== "string" || data === "" || data === refused) return;
    sessionStorage.setItem(KEY, data);
    location.reload();
  };
  return () => channel.close();
}

/** Asks other tabs for the token. Each tab stores it in its own storage, so that it is deleted with the last tab. */
function askOtherTabs(): Promise<string | undefined> {
  const channel = new BroadcastChannel(KEY);
  return new Promise((resolve) => {
    const end = (token?: string): void => {
      clearTimeout(timer);
      channel.close();
      resolve(token);
    };
    const timer = setTimeout(end, ANSWER_MS);
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data === "string" && data !== "") end(data);
    };
    channel.postMessage("");
  });
}

function tellOtherTabs(token: string): void {
  const channel = new BroadcastChannel(KEY);
  // A tab that lost its token waits for a new one.
  channel.postMessage(token);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data === "" && sessionStorage.getItem(KEY) !== null) channel.postMessage(token);
  };
}
