// For other extensions: which model a prompt should go to, of those that they name. Nothing is sent, and nothing of a session is
// known: no quota, no health, no budget. `import { resolveRoute } from "../ullage/core.ts"` from an extension beside ours.

import { Daemon, DEADLINES, DaemonError, PROTOCOL } from "./daemon.ts";
import { type PiModel, plainModel } from "./models.ts";

export interface RouteOptions {
	/** Tokens before the prompt. */
	contextTokens?: number;
	images?: number;
	policy?: "balanced" | "best" | "cost" | "fast";
}

export interface RouteQuestion extends RouteOptions {
	/** Those without a credential may not be chosen. */
	models: { model: PiModel; authenticated?: boolean }[];
	prompt: string;
}

export interface Selection {
	/** Undefined where none may be chosen; `reason` says why. */
	target: { id: string; model: PiModel } | undefined;
	thinking: string;
	reason: string[];
	/** The best first. */
	rankedTargets: { id: string; model: PiModel }[];
}

let daemon: Daemon | undefined;

/** The model for a prompt. Throws where the daemon cannot be asked. */
export async function resolveRoute({ models, prompt, ...options }: RouteQuestion): Promise<Selection> {
	const usable = models.filter(({ authenticated }) => authenticated !== false).map(({ model }) => model);
	daemon ??= new Daemon(() => ({ protocol: PROTOCOL, version: "core", session: "" }));
	if (daemon.met === undefined && !(await daemon.meet())) throw new DaemonError(daemon.problem);
	const asked = {
		models: usable.map(plainModel),
		prompt,
		context_tokens: options.contextTokens ?? 0,
		images: options.images ?? 0,
		policy: options.policy ?? "balanced",
	};
	const told = await daemon.ask<any>("route", asked, DEADLINES.route);
	const named = new Map(usable.map((model) => [`${model.provider}/${model.id}`, model]));
	const target = (id: string) => ({ id, model: named.get(id)! });
	return {
		target: told.target === null ? undefined : target(told.target),
		thinking: told.thinking,
		reason: told.stop === undefined ? told.reasons : [told.stop.message],
		rankedTargets: told.ranked.map((one: { target: string }) => target(one.target)),
	};
}

/** The same for models that may all be chosen. */
export function resolveRouteFromModels(models: PiModel[], prompt: string, options: RouteOptions = {}): Promise<Selection> {
	return resolveRoute({ ...options, models: models.map((model) => ({ model })), prompt });
}
