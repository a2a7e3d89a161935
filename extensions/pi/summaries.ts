// Pi asks for summaries (compaction, branches) by a way on which no extension sees what leaves. With privacy on, what is to be
// summarised is cleared before; what cannot be cleared is not summarised.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Bridge } from "./bridge.ts";
import type { Message } from "./conversation.ts";
import { reason } from "./daemon.ts";
import { tell } from "./telling.ts";

export function registerSummaries(pi: ExtensionAPI, bridge: Bridge): void {
	// Some hosts ask for a title of what was said first by such a way, too: this word of theirs keeps them from it.
	const keepTitlesIn = () => {
		if (bridge.daemon.privacy) process.env["PI_NO_TITLE"] = "1";
	};
	pi.on("session_start", () => {
		keepTitlesIn();
		void bridge.keepsIn().then(keepTitlesIn);
	});
	pi.on("input", async () => void (await bridge.keepsIn().then(keepTitlesIn)));
	pi.on("session_before_compact", () => void (bridge.summarizes = "compaction"));
	pi.on("session_before_tree", () => void (bridge.summarizes = "branch_summary"));
	// One that is cancelled is not told of by every version: it is over with whatever comes next.
	for (const name of ["session_compact", "session_compact_failed", "session_tree", "agent_start", "session_start"]) {
		pi.on(name as "agent_start", () => void (bridge.summarizes = ""));
	}
	pi.on("session_before_compact", (event, ctx) => guarded(bridge, ctx, () => clearCompaction(bridge, event as any, ctx)));
	pi.on("session_before_tree", (event, ctx) => guarded(bridge, ctx, () => clearBranch(bridge, event as any, ctx)));
}

async function guarded(bridge: Bridge, ctx: ExtensionContext, clear: () => Promise<void>): Promise<{ cancel: true } | undefined> {
	if (!(await bridge.keepsIn())) return undefined;
	try {
		await clear();
		return undefined;
	} catch (error) {
		tell(ctx, `ullage: privacy is on, and what is to be summarised cannot be cleared: ${reason(error)}`, "error");
		return { cancel: true };
	}
}

/** Pi goes on with the very lists of the event; some hosts hold more of them, as of what is kept, for a summary of it. */
async function clearCompaction(bridge: Bridge, event: any, ctx: ExtensionContext): Promise<void> {
	const { preparation, customInstructions } = event;
	for (const list of Object.values(preparation).filter(isMessages)) {
		list.splice(0, list.length, ...(await bridge.cleared(list, ctx)));
	}
	if (preparation.previousSummary) preparation.previousSummary = await clearText(bridge, preparation.previousSummary, ctx);
	await demandClear(bridge, customInstructions, ctx);
}

function isMessages(value: unknown): value is Message[] {
	return Array.isArray(value) && value.every((one) => typeof one?.role === "string");
}

async function clearBranch(bridge: Bridge, { preparation }: any, ctx: ExtensionContext): Promise<void> {
	if (!preparation.userWantsSummary) return;
	const entries: any[] = preparation.entriesToSummarize;
	for (const [number, entry] of entries.entries()) entries[number] = await clearEntry(bridge, entry, ctx);
	await demandClear(bridge, preparation.customInstructions, ctx);
}

async function clearEntry(bridge: Bridge, entry: any, ctx: ExtensionContext): Promise<any> {
	if (entry.type === "message") return { ...entry, message: (await bridge.cleared([entry.message], ctx))[0] };
	if (typeof entry.summary === "string") return { ...entry, summary: await clearText(bridge, entry.summary, ctx) };
	if (entry.type !== "custom_message") return entry;
	const [{ content }] = (await bridge.cleared([{ role: "user", content: entry.content }], ctx)) as [Message];
	return { ...entry, content };
}

async function clearText(bridge: Bridge, text: string, ctx: ExtensionContext): Promise<string> {
	const [{ content }] = (await bridge.cleared([{ role: "user", content: text }], ctx)) as [Message];
	return typeof content === "string" ? content : content.map((block: any) => block.text).join("\n");
}

/** What Pi takes from the user beside can only be let through or not. */
async function demandClear(bridge: Bridge, text: string | undefined, ctx: ExtensionContext): Promise<void> {
	if (text && (await clearText(bridge, text, ctx)) !== text) throw new Error("the instructions hold marked text");
}
