// Words for the user, wherever there is a place for them: on Pi's screen, else on standard error, which is no part of what
// print and JSON mode answer.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

export function tell(ctx: ExtensionContext, text: string, level: "info" | "warning" | "error"): void {
	try {
		if (ctx.hasUI && ctx.ui.notify) ctx.ui.notify(text, level);
		else console.error(text);
	} catch {
		// Pi is at another session by now, and what was to be told is of no use there
	}
}
