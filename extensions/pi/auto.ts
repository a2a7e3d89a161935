// `ullage/auto`: a model of Pi's that stands for whichever the daemon chooses. Pi sends the request itself.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Bridge, find, type RouteAsked } from "./bridge.ts";
import type { PiModel } from "./models.ts";
import { registerProxy } from "./proxy.ts";
import { tellLater } from "./telling.ts";

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

interface State {
	target: string;
	thinking: string;
}

/** Pi has models that stand for others since 0.99; before that, a provider of ours stands for them. */
export async function registerAuto(pi: ExtensionAPI, bridge: Bridge): Promise<void> {
	if (typeof (pi as any).registerVirtualModel === "function") registerVirtual(pi, bridge);
	else await registerProxy(pi, bridge);
	pi.on("model_select", (event, ctx) =>
		bridge.selected(event.model as PiModel, event.previousModel as PiModel | undefined, ctx, tellLater),
	);
}

function registerVirtual(pi: ExtensionAPI, bridge: Bridge): void {
	(pi as any).registerVirtualModel({
		provider: "ullage",
		id: "auto",
		name: "ullage auto",
		thinkingLevels: LEVELS,
		async route(asked: RouteAsked & { state?: State }, ctx: any) {
			const { target, thinking } = await bridge.route(asked, ctx);
			const model = find(ctx, target);
			if (model === undefined) throw new Error(`ullage: ${target} was chosen, and Pi does not have it`);
			const thinkingLevel = thinking || asked.thinkingLevel;
			// Another object would be another entry in the session's file.
			const same = asked.state?.target === target && asked.state.thinking === thinkingLevel;
			return { model, thinkingLevel, state: same ? asked.state : { target, thinking: thinkingLevel } };
		},
	});
}
