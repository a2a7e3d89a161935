// What the daemon has been told of the conversation, so that it is told only what is new; and its plan, told in numbers, back
// in Pi's own messages.

import { createHash } from "node:crypto";
import { type Label, type Marks, UNMARKED } from "./marks.ts";

export type Message = Record<string, any>;
type Told = [number, number] | { of: number; content: (number | Record<string, unknown>)[] } | { text: string };
/** Pi's own words for what is no message of a protocol: its summaries, shell commands, messages of extensions. */
export type Convert = (messages: Message[]) => Message[];

export interface Tool {
	name: string;
	description?: string;
	parameters?: unknown;
}

/** What stands for an update, and where in Pi's list each message of it stands. */
export interface Update {
	said: Record<string, unknown>;
	keys: string[];
	places: number[];
	plain: Message[];
	prompt: string;
	tools: string;
	labels: string;
	entries: string;
}

/** Messages that are as a protocol has them. */
const OWN = new Set(["user", "assistant", "toolResult"]);

const NO_LABELS = "{}";
const NO_ENTRIES = "[]";

export class Conversation {
	private keys: string[] = [];
	private plain: Message[] = [];
	private prompt = "";
	private tools = "";
	private labels = NO_LABELS;
	private entries = NO_ENTRIES;

	constructor(private readonly convert: Convert) {}

	/** What the daemon does not know yet. */
	update(messages: Message[], prompt: string, tools: Tool[], marks: Marks = UNMARKED): Update {
		const keys: string[] = [];
		const places: number[] = [];
		const plain: Message[] = [];
		messages.forEach((message, place) => {
			if (!isSent(message)) return;
			const sent = OWN.has(message.role) ? message : this.convert([message])[0];
			if (sent === undefined) return;
			keys.push(this.key(sent, keys.length));
			places.push(place);
			plain.push(sent);
		});
		let known = 0;
		while (known < this.keys.length && known < keys.length && this.keys[known] === keys[known]) known += 1;
		const promptKey = digest(prompt);
		const toolsKey = digest(JSON.stringify(tools.map((tool) => [tool.name, tool.description, tool.parameters])));
		const labelled = label(marks.labels, messages, places, keys);
		const labels = JSON.stringify(labelled);
		const entries = JSON.stringify(marks.entries);
		return {
			said: {
				known,
				last: known > 0 ? keys[known - 1] : "",
				keys: keys.slice(known),
				messages: plain.slice(known).map(bare),
				...(promptKey === this.prompt ? {} : { prompt }),
				...(toolsKey === this.tools ? {} : { tools: tools.map(plainTool) }),
				...(labels === this.labels ? {} : { labels: labelled }),
				...(entries === this.entries ? {} : { places: marks.entries }),
			},
			keys,
			places,
			plain,
			prompt: promptKey,
			tools: toolsKey,
			labels,
			entries,
		};
	}

	/** The key of a message. Most are what they were when their key was made: to compare is cheaper than to make it again. */
	private key(message: Message, number: number): string {
		const before = this.plain[number];
		return before !== undefined && isSame(before, message) ? this.keys[number]! : keyOf(message);
	}

	/** The daemon has taken it in. */
	taken(update: Update): void {
		this.keys = update.keys;
		this.plain = update.plain;
		this.prompt = update.prompt;
		this.tools = update.tools;
		this.labels = update.labels;
		this.entries = update.entries;
	}

	/** The daemon knows nothing, as after a restart. */
	forget(): void {
		this.keys = [];
		this.plain = [];
		this.prompt = this.tools = "";
		this.labels = NO_LABELS;
		this.entries = NO_ENTRIES;
	}
}

/** The labels by the keys of the messages that they are on. A message that was changed on its way is known by its time. */
function label(labels: Label[], messages: Message[], places: number[], keys: string[]): Record<string, string> {
	const found: Record<string, string> = {};
	if (labels.length === 0) return found;
	const moments = places.map((place) => moment(messages[place]!));
	for (const { on, label } of labels) {
		const wanted = moment(on);
		const alike = [...moments.keys()].filter((number) => moments[number] === wanted);
		const same = alike.filter((number) => isAlike(messages[places[number]!]!.content, on.content));
		for (const number of same.length > 0 ? same : alike) found[keys[number]!] = label;
	}
	return found;
}

/** When a message was made, and by whom. */
function moment({ role, timestamp, toolCallId }: Message): string {
	return `${role === "assistant" || role === "toolResult" ? role : "user"} ${timestamp} ${toolCallId ?? ""}`;
}

/** Where messages stand in a list, by their keys in the order of both; undefined for one that is not in it. */
export function placesOf(keys: string[], { keys: present, places }: Update): (number | undefined)[] {
	let next = 0;
	return keys.map((key) => {
		const found = present.indexOf(key, next);
		if (found < 0) return undefined;
		next = found + 1;
		return places[found];
	});
}

/** The messages that a plan sends; undefined where they are Pi's own. What the daemon was not told of stays where it is. */
export function apply(told: Told[], messages: Message[], places: (number | undefined)[]): Message[] | undefined {
	const planned: Message[] = [];
	const mine = new Set(places);
	let next = 0;
	const keepOthers = (until: number) => {
		for (; next < until; next += 1) if (!mine.has(next)) planned.push(messages[next]!);
	};
	const send = (number: number, changed: (message: Message) => Message) => {
		const place = places[number];
		if (place === undefined) return; // another extension has left it out
		keepOthers(place);
		planned.push(changed(messages[place]!));
	};
	for (const one of told) {
		if (Array.isArray(one)) {
			for (let number = one[0]; number <= one[1]; number += 1) send(number, (message) => message);
		} else if ("of" in one) {
			send(one.of, (message) => withContent(message, one.content));
		} else {
			planned.push({ role: "user", content: [{ type: "text", text: one.text }], timestamp: 0 });
		}
	}
	keepOthers(messages.length);
	const same = planned.length === messages.length && planned.every((message, index) => message === messages[index]);
	return same ? undefined : planned;
}

function withContent(message: Message, content: (number | Record<string, unknown>)[]): Message {
	const before = typeof message.content === "string" ? [{ type: "text", text: message.content }] : (message.content ?? []);
	const after = content.map((block) => (typeof block === "number" ? before[block] : block));
	// What Pi makes text of itself is a message of the user by now.
	const role = ["assistant", "toolResult", "user"].includes(message.role) ? message.role : "user";
	return { ...message, role, content: after };
}

/** Failed and aborted answers are not sent to a provider; the prompt is told apart from messages. */
function isSent(message: Message): boolean {
	if (message.role === "assistant") return message.stopReason !== "error" && message.stopReason !== "aborted";
	return message.role !== "system";
}

/** What the daemon needs of a message. */
function bare({ role, content, toolCallId, toolName, isError }: Message): Message {
	return { role, content, toolCallId, toolName, isError };
}

function isSame(before: Message, now: Message): boolean {
	return (
		before.role === now.role &&
		before.timestamp === now.timestamp &&
		before.toolCallId === now.toolCallId &&
		isAlike(before.content, now.content)
	);
}

/** Called for all that a conversation holds, each turn: so without lists of names. */
function isAlike(before: any, now: any): boolean {
	if (before === now) return true;
	if (typeof before !== "object" || typeof now !== "object" || before === null || now === null) return false;
	if (Array.isArray(before)) {
		return Array.isArray(now) && before.length === now.length && before.every((one, index) => isAlike(one, now[index]));
	}
	let more = 0;
	for (const name in before) {
		if (!isAlike(before[name], now[name])) return false;
		more += 1;
	}
	for (const _ in now) more -= 1;
	return more === 0;
}

function keyOf(message: Message): string {
	const { role, timestamp, toolCallId, content } = message;
	return digest(`${role} ${timestamp} ${toolCallId ?? ""} ${JSON.stringify(content)}`);
}

function digest(text: string): string {
	return createHash("sha1").update(text).digest("base64url").slice(0, 16);
}

function plainTool({ name, description, parameters }: Tool): Tool {
	return { name, description: description ?? "", parameters: parameters ?? {} };
}
