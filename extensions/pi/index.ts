// ullage inside Pi: what Pi is about to send is told to the daemon, and what the daemon says is done. See the manual,
// docs/how-to/pi-extension.md. Written for Pi 0.74 to 1.6: what a version lacks is found by looking, not by its number.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { registerAuto } from "./auto.ts";
import { Bridge, type Host } from "./bridge.ts";
import { registerCommands } from "./commands.ts";
import { Panel } from "./panel.ts";
import { registerSummaries } from "./summaries.ts";

export default async function ullage(pi: ExtensionAPI): Promise<void> {
	const bridge = new Bridge(pi, await readHost());
	const panel = new Panel(bridge);
	// Pi begins anew for each session. Hosts that live on tell of the next ones by other names.
	for (const name of ["session_start", "session_switch", "session_branch"]) {
		pi.on(name as "session_start", async (event, ctx) => {
			await bridge.begin(event, ctx);
			panel.show(ctx, (pi as any).getSettings?.().quietStartup === true);
		});
	}
	pi.on("agent_start", (_event, ctx) => panel.hide(ctx));
	pi.on("session_shutdown", (_event, ctx) => {
		panel.hide(ctx);
		return bridge.end();
	});
	registerRequests(pi, bridge);
	pi.on("after_provider_response", (event) => bridge.answered(event.status, event.headers));
	pi.on("message_update", () => bridge.speaks());
	pi.on("message_end", (event) => bridge.said(event.message));
	registerSummaries(pi, bridge);
	registerCommands(pi, bridge);
	await registerAuto(pi, bridge);
}

/**
 * What is about to be sent. Where Pi has its prompt among the messages, it stays where it is, and with it the provider's cache:
 * then a second event follows the first one. That it does not come is seen with the first request.
 */
function registerRequests(pi: ExtensionAPI, bridge: Bridge): void {
	let whole = typeof (pi as any).registerVirtualModel === "function";
	let awaited = false;
	pi.on("context", (event, ctx) => {
		awaited = whole;
		return whole ? undefined : bridge.context(event.messages, ctx);
	});
	pi.on("context_with_system" as "context", (event, ctx) => {
		awaited = false;
		return whole ? bridge.context(event.messages, ctx) : undefined;
	});
	pi.on("before_provider_request", (event, ctx) => {
		if (awaited) whole = awaited = false;
		return bridge.leave(event.payload, ctx);
	});
}

/** What Pi tells of itself. A host without it has its own version, and no messages but those of its protocol. */
async function readHost(): Promise<Host> {
	const host: Host = { version: "", convert: (messages) => messages, cut: (line, width) => [...line].slice(0, width).join("") };
	try {
		const { VERSION, convertToLlm } = await import("@earendil-works/pi-coding-agent");
		if (typeof VERSION === "string") host.version = VERSION;
		if (typeof convertToLlm === "function") host.convert = convertToLlm as unknown as Host["convert"];
	} catch {
		// not Pi itself, but one of its kin
	}
	try {
		const { truncateToWidth } = await import("@earendil-works/pi-tui");
		if (typeof truncateToWidth === "function") host.cut = (line, width) => truncateToWidth(line, width);
	} catch {
		// the same
	}
	return host;
}
