// One session of Pi and the daemon. Operations fail open, privacy fails closed.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { apply, Conversation, type Convert, type Message, placesOf, type Update } from "./conversation.ts";
import { Daemon, DaemonError, DEADLINES, MISMATCH, PROTOCOL, reason } from "./daemon.ts";
import { type Marks, readCustom, readMarks } from "./marks.ts";
import { isPhysical, type PiModel, plainModel, usable } from "./models.ts";
import { tell } from "./telling.ts";

/** What Pi asks a virtual model. */
export interface RouteAsked {
	model: unknown;
	reason: string;
	messages: readonly unknown[];
	thinkingLevel: string;
	previous?: { model: PiModel; thinkingLevel?: string };
	failed?: { model: PiModel; thinkingLevel?: string };
}

interface Asking {
	update: Update;
	messages: Message[];
	model: PiModel;
	ctx: ExtensionContext;
	routed: boolean;
	reason: string;
}

interface Planned {
	id: string;
	route?: { target: string; thinking: string; policy: string; why: string; off?: boolean };
	resync?: boolean;
	watches?: boolean;
	status?: string | null;
	messages?: any[];
	refused?: { code: string; message: string; hint?: string; privacy: boolean };
}

/** A request that Pi is making. */
interface Request {
	model: PiModel;
	began: number;
	id: Promise<string | undefined>;
	planned?: Planned;
	/** The messages that it was planned of. */
	keys?: string[];
	refused?: string;
	first?: number;
	status?: number;
	headers?: Record<string, string>;
}

/** The model of Pi's that stands for others. */
const AUTO = "ullage/auto";
/** How long Pi may wait at its end for what is under way. */
const LAST_WORDS_MS = 1000;
/** Entries of a session's file that hold a change to what is kept. */
const KEPT = "ullage.kept";
const ALONE = "privacy is on, and the daemon cannot be asked, so nothing was sent";

/** The program that runs us: its version, and its own words for messages that no protocol has. */
export interface Host {
	version: string;
	convert: Convert;
	/** A line as wide as that many columns of its screen at most: a wider one ends some versions of Pi. */
	cut: (line: string, width: number) => string;
}

export class Bridge {
	readonly daemon: Daemon;
	private readonly conversation: Conversation;
	/** Pi as it was when it last called. */
	ctx: ExtensionContext | undefined;
	private meeting: Promise<boolean> = Promise.resolve(false);
	private request: Request | undefined;
	/** What Pi has summarised now, where it does: that is no part of the conversation. */
	summarizes: "" | "compaction" | "branch_summary" = "";
	/** Whom an errand of Pi's goes to, a summary say. */
	private errand: PiModel | undefined;
	private parent = "";
	private told = "";
	private routed: Planned["route"];
	/** Whether `/auto-model off` holds, as far as is known. */
	private off = false;
	private activating: Promise<unknown> = Promise.resolve();
	/** What is selected, as far as was told or seen. */
	private selection: PiModel | undefined;
	private queue: Promise<unknown> = Promise.resolve();
	private mirroring: Promise<void> = Promise.resolve();
	/** Entries at which something is pinned to a branch, and how many of DS4's were told of. */
	private pinnedAt: string[] = [];
	private mirrored = 0;

	constructor(
		private readonly pi: ExtensionAPI,
		readonly host: Host,
	) {
		this.conversation = new Conversation(host.convert);
		this.daemon = new Daemon(() => this.greeting());
	}

	/** Why no daemon is asked; empty where one is. */
	get problem(): string {
		return this.daemon.met === undefined ? this.daemon.problem : "";
	}

	/** The model that was chosen last. */
	get target(): string | undefined {
		return this.routed?.target;
	}

	get session(): string {
		return this.ctx?.sessionManager.getSessionId() ?? "";
	}

	/** Meets the daemon. Pi's screen does not wait for it, its first request does. */
	async begin(_event: { reason: string }, ctx: ExtensionContext): Promise<void> {
		this.ctx = ctx;
		// Where a host lives on from one session to the next, nothing of the last one holds.
		this.conversation.forget();
		this.request = this.errand = this.routed = undefined;
		this.off = false;
		this.selection = ctx.model as PiModel | undefined;
		this.pinnedAt = [];
		this.mirrored = 0;
		this.parent = sessionOf(ctx.sessionManager.getHeader?.()?.parentSession);
		this.meeting = this.daemon.meet().then((met) => {
			if (!met) this.warn();
			return met;
		});
		if (!ctx.hasUI) await this.meeting;
		void this.mirror();
		this.draw();
	}

	/** Pi goes on to another session, or ends: what is under way is said, and Pi itself is left alone from here on. */
	async end(): Promise<void> {
		await Promise.race([this.queue, new Promise((done) => setTimeout(done, LAST_WORDS_MS).unref())]);
		this.ctx = undefined;
		this.daemon.close();
	}

	/** Tells the daemon what Pi is about to send; where that plans, or keeps private things in, what it says is sent. */
	async context(messages: Message[], ctx: ExtensionContext): Promise<{ messages: any[] } | undefined> {
		this.ctx = ctx;
		const model = ctx.model as PiModel | undefined;
		if (model === undefined) return undefined;
		if (!isSameModel(model, this.selection)) this.selected(model, this.selection, ctx); // some hosts do not tell
		if (!isPhysical(model)) return this.routedContext(messages);
		this.errand = undefined;
		const request: Request = { model, began: performance.now(), id: Promise.resolve(undefined) };
		this.request = request;
		await this.meeting;
		if (!(await this.daemon.there())) return this.without(request);
		const met = this.daemon.met;
		const waits = this.daemon.privacy || met?.mode === "managed" || met?.watches === true;
		const marks = await this.marks(ctx, waits);
		if (!(await this.daemon.there())) return this.without(request);
		const update = this.conversation.update(messages, promptOf(ctx), this.tools(), marks);
		const asked = this.plan({ update, messages, model, ctx, routed: false, reason: "user" });
		request.id = asked.then(
			(planned) => planned.id,
			() => undefined,
		);
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
			return this.without(request, reason(error));
		}
	}

	/** Which model a request goes to. Throws where nobody may take it: Pi then says why. */
	async route(asked: RouteAsked, ctx: ExtensionContext): Promise<{ target: string; thinking: string }> {
		this.ctx = ctx;
		const direct = asked.reason === "direct";
		if (!direct) this.request = undefined; // an errand may run beside it
		await this.meeting;
		await this.activating;
		if (!(await this.daemon.there())) return this.failSafe(asked);
		const model = asked.model as PiModel;
		const marks = await this.marks(ctx, true);
		if (!(await this.daemon.there())) return this.failSafe(asked);
		const messages = [...asked.messages] as Message[];
		// An errand is no part of the conversation: it has a prompt of its own, and no tools.
		const update = direct
			? new Conversation(this.host.convert).update(messages, "", [])
			: this.conversation.update(messages, promptOf(ctx), this.tools(), marks);
		const began = performance.now();
		let planned: Planned;
		try {
			planned = await this.plan({ update, messages, model, ctx, routed: true, reason: asked.reason });
		} catch (error) {
			this.warn(reason(error));
			return this.failSafe(asked);
		}
		if (planned.refused !== undefined) throw new Error(`ullage: ${planned.refused.message}`);
		if (planned.route === undefined) throw new Error("ullage: routing is off in the settings (routing.enabled)");
		const chosen = find(ctx, planned.route.target);
		this.errand = direct ? chosen : undefined;
		if (!direct) {
			this.request = { model: chosen ?? model, began, id: Promise.resolve(planned.id), planned, keys: update.keys };
			this.routed = planned.route;
			this.off = planned.route.off === true;
			this.draw();
		}
		return planned.route;
	}

	/** Without a daemon a conversation stays where it was; with privacy on, nowhere. */
	private failSafe(asked: RouteAsked): { target: string; thinking: string } {
		this.warn();
		const last = asked.previous ?? asked.failed;
		if (this.daemon.privacy || last === undefined) {
			throw new Error(`ullage: no model can be chosen: ${this.daemon.problem}. Select a model to go on without ullage.`);
		}
		return { target: `${last.model.provider}/${last.model.id}`, thinking: last.thinkingLevel ?? "" };
	}

	/** What was planned of a request when it was routed. */
	private routedContext(messages: Message[]): { messages: any[] } | undefined {
		const sent = this.sent(messages);
		return sent === messages ? undefined : { messages: sent };
	}

	/** The messages of a routed request as they are to be sent. */
	sent(messages: Message[]): Message[] {
		const { planned, keys } = this.request ?? {};
		if (planned?.messages === undefined || keys === undefined) return messages;
		// Other extensions may have changed the list since.
		return apply(planned.messages, messages, placesOf(keys, this.conversation.update(messages, "", []))) ?? messages;
	}

	/** The footer (routing): whether a model is chosen for each task, the last one, and where Pi is. */
	draw(): void {
		const ctx = this.ctx;
		if (ctx?.model === undefined || !ctx.hasUI) return;
		const manual = isPhysical(ctx.model as PiModel);
		if (manual && this.routed === undefined) return;
		const { target, policy } = this.routed ?? { target: "no choice yet", policy: "" };
		const state = manual ? "Auto OFF (manual)" : this.off ? "Auto OFF" : "Auto ON";
		const told = [state, target, policy, `${ctx.model.provider}/${ctx.model.id}`];
		ctx.ui.setStatus?.("ullage", told.filter((one) => one !== "").join(" · "));
	}

	/**
	 * Selecting a model by hand turns routing off for the session, and it is told how to turn it on again; selecting ours turns it
	 * on. `say` tells it.
	 */
	selected(model: PiModel, previous: PiModel | undefined, ctx: ExtensionContext, say = tell): void {
		this.ctx = ctx;
		this.selection = model;
		if (previous !== undefined && isPhysical(previous) !== isPhysical(model)) {
			if (!isPhysical(model)) this.activate();
			else say(ctx, "ullage: routing is off for this session. /auto-model on turns it on again.", "info");
		}
		this.draw();
	}

	/** Routing was turned on or off by a command. On means that Pi is at the model that stands for others. */
	async steered(on: boolean, ctx: ExtensionContext): Promise<void> {
		this.off = !on;
		const auto = on && isPhysical(ctx.model as PiModel) ? find(ctx, AUTO) : undefined;
		if (auto !== undefined) await (this.pi as any).setModel?.(auto);
		if (this.ctx !== undefined) this.draw();
	}

	/** What `/auto-model off` has said of the session no longer holds. */
	private activate(): void {
		this.off = false;
		const said = { session: this.session };
		const asked = this.meeting.then(() => this.daemon.met && this.daemon.ask("activate", said, DEADLINES.route));
		this.activating = asked.catch((error) => this.warn(reason(error)));
	}

	/** Whether private things must stay in: what was last said of it may be of a daemon that is not there yet. */
	async keepsIn(): Promise<boolean> {
		await this.meeting;
		return this.daemon.privacy;
	}

	/** The last look at what leaves. An empty body is what a provider gets in place of what it must not see. */
	async leave(payload: unknown, ctx: ExtensionContext): Promise<unknown> {
		const request = this.request;
		if (request?.refused === undefined && !(await this.keepsIn())) return undefined;
		let refused = request?.refused;
		let left = payload;
		// Hosts and extensions send requests of their own meanwhile: what leaves is what all may see that it may go to.
		for (const model of distinct(request?.model, this.errand, ctx.model as PiModel)) {
			if (refused !== undefined) break;
			const cleared = await this.clear(left, model);
			refused = cleared.refused?.message;
			if (cleared.payload) left = merge(left, cleared.payload);
		}
		if (refused === undefined) return left === payload ? undefined : left;
		tell(ctx, `ullage: ${refused}`, "error");
		ctx.abort?.();
		return {};
	}

	/** The screen of what the next request would hold, in its views. */
	async panel(ctx: ExtensionContext, width: number): Promise<Record<string, string>> {
		await this.meeting;
		if (this.daemon.met === undefined) throw new DaemonError(this.daemon.problem);
		const routed = ctx.model !== undefined && !isPhysical(ctx.model as PiModel);
		const model = (routed ? (answered(ctx) ?? usable(ctx)[0]) : ctx.model) as PiModel | undefined;
		if (model === undefined) throw new DaemonError("Pi has no model");
		const messages: Message[] = (ctx.sessionManager as any).buildSessionContext?.().messages ?? [];
		// A conversation of its own: what was said in the session is told with its first request.
		const { said } = new Conversation(this.host.convert).update(messages, promptOf(ctx), this.tools());
		const asked = { session: this.session, model: plainModel(model), width, ...said };
		return (await this.daemon.ask<{ views: Record<string, string> }>("panel", asked, DEADLINES.panel)).views;
	}

	/** What is pinned and remembered in the session stands in its file, too, and comes from there where the daemon lacks it. */
	mirror(): Promise<void> {
		this.mirroring = this.mirroring.then(() => this.mirrorNow());
		this.later(this.mirroring);
		return this.mirroring;
	}

	private async mirrorNow(): Promise<void> {
		try {
			await this.meeting;
			if (this.daemon.met === undefined || this.ctx === undefined) return;
			const entries: any[] = this.ctx.sessionManager.getEntries();
			const held = entries.filter((one) => one.type === "custom" && one.customType === KEPT).map((one) => one.data);
			const custom = readCustom(entries);
			const trusted: boolean = (this.ctx as any).isProjectTrusted?.() ?? true; // Pi before 0.79 trusts every folder
			const said = { session: this.session, cwd: this.ctx.cwd, trusted, entries: held, custom };
			const told = await this.daemon.ask<{ missing: unknown[]; places?: string[] }>("kept", said, DEADLINES.kept);
			if (this.session !== said.session) return; // a host that lives on is at another one by now
			this.pinnedAt = told.places ?? [];
			this.mirrored = custom.length;
			const { missing } = told;
			if (this.ctx !== undefined) for (const one of missing) this.pi.appendEntry?.(KEPT, one);
		} catch (error) {
			this.warn(reason(error));
		}
	}

	/** What of the session says what is to be kept. What DS4 has put there since, should it run beside us, is told of before. */
	private async marks(ctx: ExtensionContext, waits: boolean): Promise<Marks> {
		const entries: any[] = ctx.sessionManager.getEntries();
		if (readCustom(entries).length !== this.mirrored) void this.mirror();
		if (waits) await this.mirroring;
		return readMarks(ctx, entries, this.pinnedAt);
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
		const help = why === MISMATCH ? ` \`${this.daemon.again}\` puts the extension in place that fits.` : "";
		tell(this.ctx, `ullage: the daemon cannot be asked: ${why}. ${stays}${help}`, "warning");
	}

	/** Whoever was told that it is away is told that it is there. */
	private back(): void {
		if (this.ctx === undefined || this.told === "") return;
		this.told = "";
		tell(this.ctx, "ullage: the daemon is there again.", "info");
	}

	/** Tells the daemon of a request; one that knows nothing of the conversation is told the whole. */
	private async plan(ask: Asking): Promise<Planned> {
		const { ctx, messages, model, routed, reason } = ask;
		const said = {
			session: this.session,
			process: process.pid,
			model: plainModel(model),
			cwd: ctx.cwd,
			parent: this.parent,
			pi: this.host.version,
			routed,
			reason,
			errand: reason === "direct" ? this.summarizes : "",
		};
		let planned = await this.daemon.ask<Planned>("context", { ...said, ...ask.update.said }, DEADLINES.context);
		if (planned.resync) {
			await this.daemon.meet(); // it has forgotten who we are, too
			this.conversation.forget();
			const marks = await this.marks(ctx, false);
			const whole = this.conversation.update(messages, promptOf(ctx), this.tools(), marks);
			planned = await this.daemon.ask<Planned>("context", { ...said, ...whole.said }, DEADLINES.context);
		}
		if (planned.resync) throw new DaemonError("it does not take the conversation in");
		if (reason !== "direct") this.conversation.taken(ask.update);
		this.back();
		if (planned.watches === true && this.daemon.met !== undefined) this.daemon.met.watches = true;
		return planned;
	}

	/** The messages as every model may see them that Pi may send them to now. Throws where that cannot be had. */
	async cleared(messages: Message[], ctx: ExtensionContext): Promise<Message[]> {
		const model = ctx.model as PiModel | undefined;
		const models = model !== undefined && isPhysical(model) ? [model] : usable(ctx);
		const addresses = new Map(models.map((one) => [`${one.provider} ${one.baseUrl}`, one]));
		const places: number[] = [];
		const plain: Message[] = [];
		messages.forEach((message, place) => {
			const sent = this.host.convert([message])[0];
			if (sent === undefined || sent.role === "system") return;
			places.push(place);
			plain.push(sent);
		});
		if (plain.length === 0) return messages;
		await this.meeting;
		if (!(await this.daemon.there())) throw new DaemonError(this.daemon.problem);
		const said = { models: [...addresses.values()].map(plainModel), messages: plain };
		const told = await this.daemon.ask<{ messages?: any[]; refused?: { message: string } }>("clear", said, DEADLINES.check);
		if (told.messages === undefined) throw new DaemonError(told.refused?.message ?? "it did not say what may leave");
		return apply(told.messages, messages, places) ?? messages;
	}

	/** What may leave of a body; nothing of it where it is as it may be. */
	private async clear(payload: unknown, model: PiModel): Promise<{ payload?: unknown; refused?: { message: string } }> {
		try {
			if (!(await this.daemon.there())) throw new DaemonError(this.daemon.problem);
			return await this.daemon.ask("check", { model: plainModel(model), payload }, DEADLINES.check);
		} catch (error) {
			return { refused: { message: `${ALONE} (${reason(error)})` } };
		}
	}

	private without(request: Request, why = this.daemon.problem): undefined {
		this.warn(why);
		if (this.daemon.privacy) request.refused = `${ALONE} (${why})`;
		return undefined;
	}

	private tools(): any[] {
		const tools: any[] = this.pi.getAllTools?.() ?? [];
		const active = new Set(this.pi.getActiveTools?.() ?? tools.map((tool) => tool.name));
		return tools.filter((tool) => active.has(tool.name));
	}

	private greeting(): Record<string, unknown> {
		const models = this.ctx === undefined ? [] : usable(this.ctx);
		return {
			protocol: PROTOCOL,
			version: this.daemon.version,
			session: this.session,
			process: process.pid,
			cwd: this.ctx?.cwd ?? "",
			models: models.map(plainModel),
		};
	}

	private later(work: Promise<unknown>): void {
		this.queue = Promise.allSettled([this.queue, work]).then(() => undefined); // else it would hold all that ever came of it
	}
}

/** What was cleared, with what of the body is no JSON: a signal to abort, say. */
function merge(before: any, cleared: any): any {
	if (Array.isArray(before) && Array.isArray(cleared)) return cleared.map((one, index) => merge(before[index], one));
	// What JSON has another form of, as bytes and signals, stays where nothing of it was cleared.
	if (!isPlain(before) || !isPlain(cleared)) return JSON.stringify(before) === JSON.stringify(cleared) ? before : cleared;
	const kept = Object.entries(before).filter(([, value]) => JSON.stringify(value) === undefined);
	const entries = Object.entries(cleared).map(([name, value]) => [name, merge(before[name], value)]);
	return Object.fromEntries([...kept, ...entries]);
}

function isPlain(value: any): boolean {
	return value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
}

/** The models of these that something may be sent to; the last one where that is none. */
function distinct(...models: (PiModel | undefined)[]): PiModel[] {
	const found = models.filter((one) => one !== undefined && isPhysical(one)) as PiModel[];
	if (found.length === 0) return [models.at(-1) as PiModel];
	return found.filter((one, place) => found.findIndex((other) => isSameModel(other, one)) === place);
}

function isSameModel(one: PiModel, another: PiModel | undefined): boolean {
	return one.provider === another?.provider && one.id === another.id;
}

/** The model that has answered last in the session as it stands. */
function answered(ctx: ExtensionContext): PiModel | undefined {
	const branch: any[] = (ctx.sessionManager as any).getBranch?.() ?? [];
	const said = branch.findLast((one) => one.type === "message" && one.message?.role === "assistant")?.message;
	const model = said && find(ctx, `${said.provider}/${said.model}`);
	return model && isPhysical(model) ? model : undefined;
}

export function find(ctx: ExtensionContext, target: string): PiModel | undefined {
	const cut = target.indexOf("/");
	return ctx.modelRegistry.find(target.slice(0, cut), target.slice(cut + 1)) as PiModel | undefined;
}

/** The system prompt; some hosts hold it in pieces. */
function promptOf(ctx: ExtensionContext): string {
	const prompt = (ctx.getSystemPrompt?.() ?? "") as string | string[];
	return typeof prompt === "string" ? prompt : prompt.join("\n\n");
}

/** The id of the session that a file holds, `<time>_<id>.jsonl`; some hosts give the id itself. */
function sessionOf(file: unknown): string {
	const found = typeof file === "string" ? /(?:_|^)([^_/\\]+?)(?:\.jsonl)?$/.exec(file) : null;
	return found?.[1] ?? "";
}
