// What the daemon has been told of the conversation, so that it is told only what is new; and its plan, told in numbers, back
// in Pi's own messages.

import { createHash } from "node:crypto";

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
}

/** Messages that are as a protocol has them. */
const OWN = new Set(["user", "assistant", "toolResult"]);

export class Conversation {
	private keys: string[] = [];
	private plain: Message[] = [];
	private prompt = "";
	private tools = "";

	constructor(private readonly convert: Convert) {}

	/** What the daemon does not know yet. */
	update(messages: Message[], prompt: string, tools: Tool[]): Update {
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
		return {
			said: {
				known,
				last: known > 0 ? keys[known - 1] : "",
				keys: keys.slice(known),
				messages: plain.slice(known).map(bare),
				...(promptKey === this.prompt ? {} : { prompt }),
				...(toolsKey === this.tools ? {} : { tools: tools.map(plainTool) }),
			},
			keys,
			places,
			plain,
			prompt: promptKey,
			tools: toolsKey,
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
	}

	/** The daemon knows nothing, as after a restart. */
	forget(): void {
		this.keys = [];
		this.plain = [];
		this.prompt = this.tools = "";
	}
}

/** The messages that a plan sends; undefined where they are Pi's own. What the daemon was not told of stays where it is. */
export function apply(told: Told[], messages: Message[], places: number[]): Message[] | undefined {
	const planned: Message[] = [];
	const mine = new Set(places);
	let next = 0;
	const keepOthers = (until: number) => {
		for (; next < until; next += 1) if (!mine.has(next)) planned.push(messages[next]!);
	};
	for (const one of told) {
		if (Array.isArray(one)) {
			for (let number = one[0]; number <= one[1]; number += 1) {
				keepOthers(places[number]!);
				planned.push(messages[places[number]!]!);
			}
		} else if ("of" in one) {
			keepOthers(places[one.of]!);
			planned.push(withContent(messages[places[one.of]!]!, one.content));
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

function isAlike(before: any, now: any): boolean {
	if (before === now) return true;
	if (typeof before !== "object" || typeof now !== "object" || before === null || now === null) return false;
	const names = Object.keys(before);
	return names.length === Object.keys(now).length && names.every((name) => isAlike(before[name], now[name]));
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
