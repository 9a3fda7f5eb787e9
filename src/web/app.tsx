import { type ReactNode, useEffect, useRef, useState } from "react";
import { AgentsPage } from "./agents/agents-page.tsx";
import { InboxPage } from "./approvals/inbox-page.tsx";
import { focusNextRequest } from "./approvals/request-wanted.ts";
import { Keys } from "./keys.tsx";
import { focusIn } from "./parts/keep-focus.ts";
import { Problem } from "./parts/problem.tsx";
import { SoundButton, useRequestSound } from "./parts/sound.tsx";
import { focusPlace } from "./session/places.ts";
import { SessionPage } from "./session/session-page.tsx";
import { SessionsPage } from "./sessions/sessions-page.tsx";
import { linkTo, type Route, useRoute } from "./state/route.ts";
import { useServer } from "./state/server-context.ts";
import type { Link } from "./state/server-store.ts";
import { signOut } from "./state/sign-in.ts";
import { useStore } from "./state/store.ts";
import { applyTheme, storedTheme, type Theme } from "./state/theme.ts";

/** Shows the page: navigation, the state of the connection, and the content that the address names. */
export function App(): ReactNode {
  const route = useRoute();
  const { link, approvals, sessions } = useStore(useServer().store);
  const waiting = approvals.length;
  const title = route.page === "session" ? sessions?.find(({ id }) => id === route.id)?.title : undefined;
  useEffect(() => {
    // Visible in the tab bar, even while another tab is open.
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title === undefined ? "" : `${title.slice(0, 60)} · `}Retinue`;
  }, [waiting, title]);
  useRequestSound(waiting);
  useFocusOnArrival(route);
  const isSignedOut = link.state === "refused" && link.error?.status === 401;
  useEffect(() => (isSignedOut ? signOut() : undefined), [isSignedOut]);
  return (
    <div className="app">
      <header className="bar">
        <div className="skip">
          <button type="button" onClick={() => focusContent()}>
            Skip to the content
          </button>
          {route.page === "session" && (
            <button type="button" onClick={() => focusPlace("m")}>
              Write a message
            </button>
          )}
        </div>
        <a className="brand" href={linkTo({ page: "sessions" })}>
          retinue
        </a>
        <nav aria-label="Pages">
          <PageLink to="sessions" current={route}>
            Sessions
          </PageLink>
          <PageLink to="inbox" current={route}>
            Waiting for you{waiting > 0 && <span className="badge">{waiting}</span>}
          </PageLink>
          <PageLink to="agents" current={route}>
            Agents
          </PageLink>
        </nav>
        <span className="space" />
        <SoundButton />
        <ThemeButton />
      </header>
      <LinkNote link={link} />
      <Keys hasRequestsHere={approvals.some(({ question }) => "id" in route && question.sessionId === route.id)} />
      {isSignedOut && sessions !== undefined && (
        <p className="link-note" role="alert">
          The server was restarted. Open the link that it printed. This page shows the state before the restart.
        </p>
      )}
      {isSignedOut && sessions === undefined ? (
        <main className="alone">
          <Problem title="The server was restarted" isPage>
            Open the link that it printed: the server creates a new token each time it starts.
          </Problem>
        </main>
      ) : (
        <Page route={route} />
      )}
    </div>
  );
}

function focusContent(selector = "main"): void {
  const content = document.querySelector(selector);
  if (content !== null) focusIn(content);
}

/** Moves the focus from a link to the content that it has opened. */
function useFocusOnArrival(route: Route): void {
  const { page } = route;
  const id = page === "session" ? route.id : page === "agents" ? route.agent : undefined;
  const isFirst = useRef(true);
  useEffect(() => {
    const isOpening = isFirst.current;
    isFirst.current = false;
    const { activeElement } = document;
    const isFromBar = activeElement !== null && activeElement.closest(".bar") !== null;
    if (page === "inbox" && (isFromBar || (isOpening && activeElement === document.body))) {
      if (!focusNextRequest()) focusContent();
    } else if (isFromBar) focusContent();
    else if (page === "new-agent" && activeElement?.matches("a")) focusContent(".agents-detail");
    // The agent's heading has not loaded yet.
    else if (id !== undefined && activeElement?.matches(".agent-link:focus-visible"))
      document.querySelector<HTMLElement>(".agents-detail")?.focus();
  }, [page, id]);
}

function Page({ route }: { readonly route: Route }): ReactNode {
  switch (route.page) {
    case "sessions":
      return <SessionsPage />;
    case "inbox":
      return <InboxPage />;
    case "agents":
      return <AgentsPage agent={route.agent} />;
    case "new-agent":
      return <AgentsPage isNew />;
    case "session":
      return <SessionPage key={route.id} id={route.id} agentId={route.agent} />;
  }
}

interface PageLinkProps {
  readonly to: "sessions" | "inbox" | "agents";
  readonly current: Route;
  readonly children: ReactNode;
}

function PageLink({ to, current, children }: PageLinkProps): ReactNode {
  const isCurrent = current.page === to || (to === "agents" && current.page === "new-agent");
  return (
    <a href={linkTo({ page: to })} aria-current={isCurrent ? "page" : undefined}>
      {children}
    </a>
  );
}

/** Says that the page may be out of date, because the connection is lost. */
function LinkNote({ link: { state, error } }: { readonly link: Link }): ReactNode {
  if (state !== "lost" && !(state === "refused" && error?.status !== 401)) return null;
  return (
    <p className="link-note" role="status">
      {state === "lost" ? "Connection lost. " : ""}
      {state === "lost" && error?.status === 0 ? "Check that the server is running." : error?.detail}{" "}
      {state === "lost" && "What you see may be out of date. Connecting again…"}
    </p>
  );
}

const themes: readonly Theme[] = ["system", "dark", "light"];

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(storedTheme);
  const change = (): void => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button type="button" className="quiet" onClick={change} title="Switches between system, dark and light">
      Theme: {theme}
    </button>
  );
}
