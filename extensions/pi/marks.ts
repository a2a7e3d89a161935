// What Pi's session holds beside its messages that says what is to be kept: labels of entries, what another extension has left
// there, and which entries the branch is on. Nothing is decided here of what they mean.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Message } from "./conversation.ts";

/** A label with the message of the entry that it is on. */
export interface Label {
	on: Message;
	label: string;
}

export interface Marks {
	labels: Label[];
	/** Those of the entries that were asked for that are on the branch. */
	entries: string[];
}

export const UNMARKED: Marks = { labels: [], entries: [] };

/** What entries of DS4 that hold a change to what is kept are called. */
const DS4 = new Set(["ds4-context-pin-v1", "ds4-context-memory-v1"]);

export function readMarks({ sessionManager }: ExtensionContext, entries: any[], asked: string[]): Marks {
	const branch = asked.length === 0 ? [] : (sessionManager.getBranch?.() ?? []).map((one) => one.id);
	return { labels: readLabels(entries), entries: asked.filter((id) => branch.includes(id)) };
}

/** The newest label of each entry holds; one without a text takes the others back. */
function readLabels(entries: any[]): Label[] {
	const labels = new Map<string, string | undefined>();
	for (const one of entries) if (one.type === "label") labels.set(one.targetId, one.label);
	if (labels.size === 0) return [];
	return entries.flatMap((entry) => {
		const label = labels.get(entry.id);
		return label ? [{ on: entry.message ?? messageOf(entry), label }] : [];
	});
}

/** What is known of the message that Pi makes of a summary, or of an entry of an extension. */
function messageOf({ type, timestamp, content }: any): Message {
	return { role: type, timestamp: Date.parse(timestamp), content };
}

/** What DS4 has left in the session, in its order. */
export function readCustom(entries: any[]): { custom_type: string; data: unknown }[] {
	const found = entries.filter((one) => one.type === "custom" && DS4.has(one.customType));
	return found.map((one) => ({ custom_type: one.customType, data: one.data }));
}
