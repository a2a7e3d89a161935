// One session of Pi and the daemon. Operations fail open, privacy fails closed.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { apply, Conversation, type Convert, type Message, type Update } from "./conversation.ts";
import { Daemon, DaemonError, DEADLINES, MISMATCH, PROTOCOL, reason } from "./daemon.ts";
import { type PiModel, plainModel } from "./models.ts";
import { tell } from "./telling.ts";

interface Planned {
	id: string;
	resync?: boolean;
	status?: string | null;
	messages?: any[];
	refused?: { code: string; message: string; hint?: string; privacy: boolean };
}

/** A request that Pi is making. */
interface Request {
	model: PiModel;
	began: number;
	id: Promise<string | undefined>;
	refused?: string;
	first?: number;
	status?: number;
	headers?: Record<string, string>;
}

const ALONE = "privacy is on, and the daemon cannot be asked, so nothing was sent";

/** The program that runs us: its version, and its own words for messages that no protocol has. */
export interface Host {
	version: string;
	convert: Convert;
}

export class Bridge {
	readonly daemon: Daemon;
	private readonly conversation: Conversation;
	private ctx: ExtensionContext | undefined;
	private meeting: Promise<boolean> = Promise.resolve(false);
	private request: Request | undefined;
	private parent = "";
	private told = "";
	private queue: Promise<unknown> = Promise.resolve();

	constructor(
		private readonly pi: ExtensionAPI,
		private readonly host: Host,
	) {
		this.conversation = new Conversation(host.convert);
		this.daemon = new Daemon(() => this.greeting());
	}

	get session(): string {
		return this.ctx?.sessionManager.getSessionId() ?? "";
	}

	/** Meets the daemon. Pi's screen does not wait for it, its first request does. */
	async begin(_event: { reason: string }, ctx: ExtensionContext): Promise<void> {
		this.ctx = ctx;
		this.parent = sessionOf(ctx.sessionManager.getHeader?.()?.parentSession);
		this.meeting = this.daemon.meet().then((met) => {
			if (!met) this.warn();
			return met;
		});
		if (!ctx.hasUI) await this.meeting;
	}

	async end(): Promise<void> {
		await this.queue;
		this.daemon.close();
	}

	/** Tells the daemon what Pi is about to send; where that plans, or keeps private things in, what it says is sent. */
	async context(messages: Message[], ctx: ExtensionContext): Promise<{ messages: any[] } | undefined> {
		this.ctx = ctx;
		const model = ctx.model as PiModel | undefined;
		if (model === undefined) return undefined;
		const request: Request = { model, began: performance.now(), id: Promise.resolve(undefined) };
		this.request = request;
		await this.meeting;
		if (!(await this.daemon.there())) return this.without(request);
		const update = this.conversation.update(messages, ctx.getSystemPrompt(), this.tools());
		const asked = this.plan(update, messages, model, ctx);
		request.id = asked.then(
			(planned) => planned.id,
			() => undefined,
		);
		const waits = this.daemon.privacy || this.daemon.met?.mode === "managed";
		if (!waits) {
			this.later(asked.catch((error) => this.warn(reason(error))));
			return undefined;
		}
		try {
			const planned = await asked;
			if (planned.refused !== undefined) request.refused = planned.refused.message;
			const sent = planned.messages && apply(planned.messages, messages, update.places);
			return sent && { messages: sent };
		} catch (error) {
			this.warn(reason(error));
			return this.without(request);
		}
	}

	/** The last look at what leaves. An empty body is what a provider gets in place of what it must not see. */
	async leave(payload: unknown, ctx: ExtensionContext): Promise<unknown> {
		const request = this.request;
		if (request?.refused === undefined && !this.daemon.privacy) return undefined;
		let refused = request?.refused;
		if (refused === undefined) {
			const cleared = await this.clear(payload, request?.model ?? (ctx.model as PiModel));
			if (cleared.refused === undefined) return cleared.payload;
			refused = cleared.refused.message;
		}
		tell(ctx, `ullage: ${refused}`, "error");
		ctx.abort();
		return {};
	}

	/** Waits until what was said is recorded: somebody is about to look at it. */
	async settle(): Promise<void> {
		await this.meeting;
		await this.queue;
		if (this.daemon.met === undefined) return;
		await this.daemon.ask("settle", {}, DEADLINES.answer).catch(() => undefined);
	}

	answered(status: number, headers: Record<string, string>): void {
		if (this.request === undefined) return;
		this.request.status = status;
		this.request.headers = headers;
	}

	speaks(): void {
		if (this.request !== undefined) this.request.first ??= performance.now();
	}

	/** An answer is over: its usage goes to the daemon, beside what Pi does next. */
	said(message: Message): void {
		const request = this.request;
		if (message.role !== "assistant" || request === undefined) return;
		this.request = undefined;
		const ended = performance.now();
		this.later(
			request.id.then(async (id) => {
				if (id === undefined || this.daemon.met === undefined) return;
				await this.daemon.ask(
					"answer",
					{
						id,
						message,
						status: request.status,
						headers: request.headers ?? {},
						first_ms: request.first === undefined ? undefined : request.first - request.began,
						lasted_ms: ended - request.began,
					},
					DEADLINES.answer,
				);
			}),
		);
	}

	/** One notice for as long as the same is wrong. */
	warn(why = this.daemon.problem): void {
		if (this.ctx === undefined || this.told === why) return;
		this.told = why;
		const stays = this.daemon.privacy ? "Privacy is on, so nothing is sent without it." : "Pi goes on without it.";
		const help = why === MISMATCH ? " `ullage pi install` puts the extension in place that fits." : "";
		tell(this.ctx, `ullage: the daemon cannot be asked: ${why}. ${stays}${help}`, "warning");
	}

	private async plan(update: Update, messages: Message[], model: PiModel, ctx: ExtensionContext): Promise<Planned> {
		const said = { session: this.session, model: plainModel(model), cwd: ctx.cwd, parent: this.parent, pi: this.host.version };
		let planned = await this.daemon.ask<Planned>("context", { ...said, ...update.said }, DEADLINES.context);
		if (planned.resync) {
			this.conversation.forget();
			const whole = this.conversation.update(messages, ctx.getSystemPrompt(), this.tools());
			planned = await this.daemon.ask<Planned>("context", { ...said, ...whole.said }, DEADLINES.context);
		}
		if (planned.resync) throw new DaemonError("it does not take the conversation in");
		this.conversation.taken(update);
		this.told = "";
		return planned;
	}

	/** What may leave of a body; nothing of it where it is as it may be. */
	private async clear(payload: unknown, model: PiModel): Promise<{ payload?: unknown; refused?: { message: string } }> {
		try {
			return await this.daemon.ask("check", { model: plainModel(model), payload }, DEADLINES.check);
		} catch (error) {
			return { refused: { message: `${ALONE} (${reason(error)})` } };
		}
	}

	private without(request: Request): undefined {
		this.warn();
		if (this.daemon.privacy) request.refused = ALONE;
		return undefined;
	}

	private tools(): any[] {
		const active = new Set(this.pi.getActiveTools());
		return this.pi.getAllTools().filter((tool) => active.has(tool.name));
	}

	private greeting(): Record<string, unknown> {
		const models = (this.ctx?.modelRegistry.getAvailable() ?? []) as PiModel[];
		return {
			protocol: PROTOCOL,
			version: this.daemon.version,
			session: this.session,
			models: models.map(plainModel),
		};
	}

	private later(work: Promise<unknown>): void {
		this.queue = Promise.allSettled([this.queue, work]);
	}
}

/** The id of the session that a file holds: `<time>_<id>.jsonl`. */
function sessionOf(file: unknown): string {
	const found = typeof file === "string" ? /_([^_/\\]+)\.jsonl$/.exec(file) : null;
	return found?.[1] ?? "";
}
