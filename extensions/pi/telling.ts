// Words for the user, wherever there is a place for them: on Pi's screen, else on standard error, which is no part of what
// print and JSON mode answer.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

type Level = "info" | "warning" | "error";

/** How soon Pi has said itself what it was asked to do: a line that follows upon another one takes its place on the screen. */
const SAID_MS = 20;

/** Words that follow upon what Pi says of the same. */
export function tellLater(ctx: ExtensionContext, text: string, level: Level): void {
	setTimeout(() => tell(ctx, text, level), SAID_MS);
}

export function tell(ctx: ExtensionContext, text: string, level: Level): void {
	try {
		if (ctx.hasUI && ctx.ui.notify) ctx.ui.notify(text, level);
		else console.error(text);
	} catch {
		// Pi is at another session by now, and what was to be told is of no use there
	}
}
