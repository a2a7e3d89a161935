// `/context` and `/auto-model`: the command line answers them, for this session.

import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Account } from "./account.ts";
import type { Bridge } from "./bridge.ts";
import { usable } from "./models.ts";

const NAMES = {
	context: "What fills the context, and what ullage does with it",
	"auto-model": "Which model takes each task, and why",
};

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The words that may follow each command, and those that may follow these. */
const WORDS: Record<string, Record<string, string[]>> = {
	context: {
		status: [],
		tokens: [],
		model: [],
		manifest: [],
		explain: [],
		included: ["all"],
		excluded: ["all"],
		retrieved: [],
		project: [],
		pins: ["all"],
		pin: ["--scope session", "--scope branch", "--scope project", "--classification", "--source", "--file", "--supersedes"],
		unpin: [],
		memory: ["list", "list all", "add", "supersede", "invalidate", "expire", "sources", "exclude", "include"],
		privacy: [],
		artifacts: [],
		summaries: [],
		compaction: [],
		"compact-preview": [],
		continuation: [],
		ranking: ["status", "feedback", "train"],
		quality: [],
		metrics: [],
		storage: [],
		health: [],
		"rebuild-index": [],
		config: ["show", "set", "set --global", "unset", "unset --global"],
		history: ["status", "search", "read"],
		rebase: ["--dry-run", "--recover"],
		adapter: [],
		help: [],
	},
	"auto-model": {
		on: [],
		off: [],
		status: [],
		why: [],
		plan: [],
		task: [],
		outcome: ["success", "failure", "unknown"],
		models: [],
		providers: [],
		history: ["session"],
		metrics: [],
		quota: [],
		budget: [],
		pool: ["off"],
		rules: [],
		export: ["json", "jsonl"],
		doctor: [],
		mode: ["balanced", "best", "cost", "fast"],
		pin: [],
		unpin: [],
		thinking: ["auto", "pi", ...LEVELS.map((level) => `fixed ${level}`)],
		feedback: ["good", "bad"],
		help: [],
	},
};
/** Words of `/auto-model` that ask for one of theirs when they stand alone. */
const ASKED = new Set(["mode", "thinking", "pool", "pin", "outcome", "feedback"]);

/** The words of a command, with those that are known only now. */
function wordsOf(name: string, bridge: Bridge): Record<string, string[]> {
	const models = bridge.ctx === undefined ? [] : usable(bridge.ctx).map(({ provider, id }) => `${provider}/${id}`);
	if (name !== "auto-model") return { ...WORDS[name]!, model: models };
	const pools = bridge.daemon.met?.pools ?? [];
	return { ...WORDS[name]!, pin: models, pool: [...pools, "off"] };
}

export function complete(words: Record<string, string[]>, typed: string): { value: string; label: string }[] | null {
	const first = /^(\S+)\s/.exec(typed)?.[1];
	const known = first === undefined ? Object.keys(words) : (words[first] ?? []).map((value) => `${first} ${value}`);
	// What is typed in full is no longer a choice: Enter would take that of the list, and run nothing.
	const found = known.includes(typed) ? [] : known.filter((one) => one.startsWith(typed));
	return found.length > 0 ? found.map((value) => ({ value, label: value })) : null;
}

/** What was typed, with the choice that it leaves open; undefined where the user makes none. */
async function choose(words: Record<string, string[]>, typed: string, ctx: ExtensionContext): Promise<string | undefined> {
	const values = words[typed] ?? [];
	if (!ASKED.has(typed) || !ctx.hasUI || !ctx.ui.select || values.length < 2) return typed;
	const chosen = await ctx.ui.select(typed, values);
	return chosen === undefined ? undefined : `${typed} ${chosen}`;
}

export function registerCommands(pi: ExtensionAPI, bridge: Bridge): void {
	const account = new Account(pi);
	const register = (command: string, name: keyof typeof NAMES) =>
		pi.registerCommand(command, {
			description: `${NAMES[name]} (ullage)`,
			getArgumentCompletions: (typed) => complete(wordsOf(name, bridge), typed),
			handler: async (args, ctx) => {
				const typed = args.trim();
				const words = name === "auto-model" ? await choose(wordsOf(name, bridge), typed, ctx) : typed;
				if (words === undefined) return;
				await bridge.settle();
				const { text, done } = await run(bridge, name, words, ctx, account.tell(ctx, bridge.summarizes, bridge.problem));
				if (bridge.ctx === undefined) return; // Pi is at another session by now
				if (done && name === "auto-model" && (words === "on" || words === "off")) await bridge.steered(words === "on", ctx);
				show(ctx, name, text);
				await bridge.mirror();
			},
		});
	register("context", "context");
	register("ullage", "context"); // where a host has a `/context` itself, ours is never run
	register("auto-model", "auto-model");
}

/** What a command of ours has printed, what went wrong included, and whether it has done it. */
interface Ran {
	text: string;
	done: boolean;
}

function run(bridge: Bridge, name: string, args: string, ctx: ExtensionContext, account: unknown): Promise<Ran> {
	const [program, ...before] = bridge.daemon.command;
	const model = ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : "";
	const given = ["pi", "command", name, "--session", bridge.session, "--model", model, "--host", "--", args];
	return new Promise((ended) => {
		const child = spawn(program!, [...before, ...given], {
			cwd: ctx.cwd,
			env: { ...process.env, COLUMNS: String(Math.max(40, (process.stdout.columns ?? 100) - 4)) },
			stdio: ["pipe", "pipe", "pipe"],
		});
		let text = "";
		child.stdout.setEncoding("utf8").on("data", (piece) => (text += piece));
		child.stderr.setEncoding("utf8").on("data", (piece) => (text += piece));
		child.on("error", (error) => ended({ text: `ullage: ${error.message}`, done: false }));
		child.on("close", (status) => ended({ text: text.trimEnd(), done: status === 0 }));
		child.stdin.on("error", () => {}); // it has ended already, and says why
		child.stdin.end(JSON.stringify(account));
	});
}

function show(ctx: ExtensionContext, name: string, text: string): void {
	if (ctx.hasUI && ctx.ui.notify) {
		ctx.ui.notify(text, "info");
		return;
	}
	// Pi keeps `console` away from standard output, which its own answer goes to.
	const mode = (ctx as { mode?: string }).mode ?? process.argv[process.argv.indexOf("--mode") + 1]; // older ones do not tell
	print(mode === "json" ? `${JSON.stringify({ type: "ullage", command: name, text })}\n` : `${text}\n`);
}

/** All of it: a pipe whose reader is slow takes some, and then nothing for a while. */
function print(text: string): void {
	let left: Uint8Array = Buffer.from(text);
	while (left.length > 0) {
		try {
			left = left.subarray(writeSync(1, left));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
		}
	}
}
