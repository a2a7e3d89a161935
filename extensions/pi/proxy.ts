// `ullage/auto` where Pi has no models that stand for others (before 0.99): a provider of ours that passes the stream of the
// chosen model on. Until that has said something, another one may take its place in the same request.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type Bridge, find } from "./bridge.ts";
import type { Message } from "./conversation.ts";

/** What we need of Pi's library. */
interface Library {
	streamSimple(model: unknown, context: unknown, options: unknown): AsyncIterable<Event>;
	createAssistantMessageEventStream(): Stream;
}

interface Stream {
	push(event: Event): void;
	end(message?: Message): void;
}

interface Event {
	type: string;
	reason?: string;
	delta?: string;
	error?: Message;
	message?: Message;
}

interface By {
	pi: ExtensionAPI;
	library: Library;
	bridge: Bridge;
}

interface Call {
	model: any;
	context: { messages: Message[] };
	options: Record<string, any>;
}

const MOST_ATTEMPTS = 3;
/** Entries of a session that say whom we have chosen. */
const STATE = "ullage.auto-state";
const ZERO = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export async function registerProxy(pi: ExtensionAPI, bridge: Bridge): Promise<void> {
	const library = await findLibrary();
	if (library === undefined || !pi.registerProvider) return;
	pi.on("session_start", (_event, ctx) => restore(pi, ctx));
	pi.registerProvider("ullage", {
		name: "ullage",
		baseUrl: "http://127.0.0.1:9", // asked for, and never used
		apiKey: "none",
		api: "ullage-auto",
		models: [
			{
				id: "auto",
				name: "ullage auto",
				reasoning: true,
				input: ["text", "image"],
				cost: ZERO,
				contextWindow: 200_000,
				maxTokens: 32_000,
			},
		],
		streamSimple: (model: any, context: any, options: any) => {
			const out = library.createAssistantMessageEventStream();
			const call = { model, context, options: options ?? {} };
			pass({ pi, library, bridge }, call, out).catch((error) => out.push(failure(call, String(error?.message ?? error))));
			return out as any;
		},
	});
}

async function findLibrary(): Promise<Library | undefined> {
	// Written out, since some hosts put their own library in the place of a name that they can read.
	for (const load of [() => import("@earendil-works/pi-ai"), () => import("@earendil-works/pi-ai/compat")]) {
		try {
			const found: Partial<Library> = await load();
			if (typeof found.streamSimple === "function") return found as Library;
		} catch {
			// the next one
		}
	}
	return undefined;
}

/** A session that was resumed has the model that answered last: it is ours again, if we had chosen that one. */
async function restore(pi: ExtensionAPI, ctx: ExtensionContext): Promise<void> {
	const branch: any[] = ctx.sessionManager.getBranch?.() ?? [];
	const chosen = branch.findLast((one) => one.type === "custom" && one.customType === STATE)?.data?.target;
	const selected = branch.findLast((one) => one.type === "model_change");
	const last = branch.findLast((one) => one.type === "message" && one.message.role === "assistant")?.message;
	const at = ctx.model && `${ctx.model.provider}/${ctx.model.id}`;
	const ours = selected?.provider === "ullage" && chosen !== undefined && chosen === at;
	const auto = find(ctx, "ullage/auto");
	if (ours && last !== undefined && `${last.provider}/${last.model}` === chosen && auto) await pi.setModel?.(auto as any);
}

async function pass(by: By, call: Call, out: Stream): Promise<void> {
	for (let attempt = 1; ; attempt += 1) {
		const events = await open(by, call);
		const failed = await forward(events, out, attempt < MOST_ATTEMPTS && call.options.signal?.aborted !== true);
		if (failed === undefined) return;
		by.bridge.said(failed);
	}
}

/** The stream of the model that is chosen now, with Pi's own credential for it. */
async function open({ pi, library, bridge }: By, { model, context, options }: Call): Promise<AsyncIterable<Event>> {
	const ctx = bridge.ctx;
	if (ctx === undefined) throw new Error("ullage: the session has not begun");
	const reason = bridge.summarizes !== "" || options.sessionId === undefined ? "direct" : "user";
	const last = context.messages.findLast((message) => message.role === "assistant");
	const asked = {
		model,
		reason,
		messages: context.messages,
		thinkingLevel: options.reasoning ?? "off",
		previous: last && { model: { provider: last.provider, id: last.model } },
	};
	const before = bridge.target;
	const { target, thinking } = await bridge.route(asked, ctx);
	if (reason !== "direct" && target !== before) pi.appendEntry?.(STATE, { target });
	const chosen = find(ctx, target);
	const auth = chosen && (await ctx.modelRegistry.getApiKeyAndHeaders(chosen as any));
	if (!auth?.ok) throw new Error(`ullage: ${target} was chosen, and Pi has no credential for it`);
	const level = thinking || asked.thinkingLevel;
	return library.streamSimple(
		chosen,
		{ ...context, messages: reason === "direct" ? context.messages : bridge.sent(context.messages) },
		{
			...options,
			maxRetries: options.maxRetries ?? 0, // another model is asked instead
			apiKey: auth.apiKey,
			headers: { ...auth.headers, ...options.headers },
			reasoning: level === "off" ? undefined : level === "max" ? "xhigh" : level,
		},
	);
}

/** Passes a stream on from when it says something; gives the failure of one that never did, where another may be asked. */
async function forward(events: AsyncIterable<Event>, out: Stream, again: boolean): Promise<Message | undefined> {
	const held: Event[] = [];
	let says = false;
	for await (const event of events) {
		if (event.type === "error" && event.reason === "error" && !says && again) return event.error;
		says ||= event.type === "done" || event.type === "error" || isSubstantive(event);
		if (!says) held.push(event);
		else for (const one of [...held.splice(0), event]) out.push(one);
	}
	out.end();
	return undefined;
}

function isSubstantive({ type, delta }: Event): boolean {
	return type === "toolcall_start" || (type === "text_delta" && delta !== undefined && delta !== "");
}

function failure({ model }: Call, errorMessage: string): Event {
	const usage = { ...ZERO, totalTokens: 0, cost: { ...ZERO, total: 0 } };
	const { api, provider, id } = model;
	const error = { role: "assistant", content: [], api, provider, model: id, usage, stopReason: "error", errorMessage };
	return { type: "error", reason: "error", error: { ...error, timestamp: Date.now() } };
}
