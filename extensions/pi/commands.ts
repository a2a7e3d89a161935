// `/context` and `/auto-model`: the command line answers them, for this session.

import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Bridge } from "./bridge.ts";

const NAMES = {
	context: "What fills the context, and what ullage does with it",
	"auto-model": "Which model takes each task, and why",
};

export function registerCommands(pi: ExtensionAPI, bridge: Bridge): void {
	for (const [name, description] of Object.entries(NAMES)) {
		pi.registerCommand(name, {
			description: `${description} (ullage)`,
			handler: async (args, ctx) => {
				await bridge.settle();
				show(ctx, name, await run(bridge, name, args, ctx));
			},
		});
	}
}

/** Runs a command of ours and gives what it prints; what goes wrong is printed, too. */
function run(bridge: Bridge, name: string, args: string, ctx: ExtensionContext): Promise<string> {
	const [program, ...before] = bridge.daemon.command;
	const model = ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : "";
	const given = ["pi", "command", name, "--session", bridge.session, "--model", model, "--", args];
	return new Promise((done) => {
		const child = spawn(program!, [...before, ...given], {
			cwd: ctx.cwd,
			env: { ...process.env, COLUMNS: String(Math.max(40, (process.stdout.columns ?? 100) - 4)) },
			stdio: ["ignore", "pipe", "pipe"],
		});
		let text = "";
		child.stdout.setEncoding("utf8").on("data", (piece) => (text += piece));
		child.stderr.setEncoding("utf8").on("data", (piece) => (text += piece));
		child.on("error", (error) => done(`ullage: ${error.message}`));
		child.on("close", () => done(text.trimEnd()));
	});
}

function show(ctx: ExtensionContext, name: string, text: string): void {
	if (ctx.hasUI) {
		ctx.ui.notify(text, "info");
		return;
	}
	// Pi keeps `console` away from standard output, which its own answer goes to.
	const isJson = (ctx as { mode?: string }).mode === "json";
	writeSync(1, isJson ? `${JSON.stringify({ type: "ullage", command: name, text })}\n` : `${text}\n`);
}
