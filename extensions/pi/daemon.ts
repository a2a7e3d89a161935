// The way to the daemon: found, or started, on loopback; every call has a deadline, and a daemon that does not answer is
// told of once. Nothing here decides anything.

import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Raised together with `PROTOCOL` in `ullage/pi/asking.py`. */
export const PROTOCOL = 1;

/** What `ullage pi install` has written beside this file. */
interface Installed {
	version: string;
	command: string[];
	address: string;
	/** What puts the extension in place once more. */
	again: string;
	/** Whether private things must stay in, by the settings of that time. */
	privacy?: boolean;
}

interface Address {
	url: string;
	token_file: string;
	privacy: boolean;
	pid: number;
}

export interface Hello {
	version: string;
	protocol: number;
	mode: "observe" | "managed";
	privacy: boolean;
	routing: boolean;
	/** Whether there is a limit of what may be spent: then every request waits for leave. */
	watches: boolean;
	/** The pools of the settings, by their names. */
	pools?: string[];
}

/** Milliseconds that a hook of Pi may wait. */
export const DEADLINES = { hello: 2000, start: 8000, context: 2000, check: 2000, answer: 5000, panel: 2000, route: 2000, kept: 2000 };
const ASK_AGAIN_MS = 10_000;
/** With privacy on, one that could not be started is started again after this at the earliest. */
const START_AGAIN_MS = 3000;
const LOOPBACK = /^http:\/\/(127(\.\d{1,3}){3}|localhost|\[::1\]):\d+$/;

export class DaemonError extends Error {
	constructor(
		message: string,
		/** What the daemon calls what it does not do. */
		readonly code = "",
	) {
		super(message);
	}
}

/** It is not there (any more): what was said to it came to nothing. */
class Gone extends DaemonError {}

export class Daemon {
	/** What it said when it was met; undefined while there is none. */
	met: Hello | undefined;
	/** Why there is none. */
	problem = "";
	private readonly installed = read<Installed>(join(dirname(fileURLToPath(import.meta.url)), "install.json"));
	private readonly agent = new Agent({ keepAlive: true, maxSockets: 4 });
	private address: Address | undefined;
	private token = "";
	private asked = 0;
	private started = false;
	/** The last start that came to nothing. */
	private failed = { at: -Infinity, why: "" };
	/** Whether it runs, and cannot do for this folder what has to be done. */
	private lacking = false;
	/** Whether one runs as it is to, so that another one would not help. */
	private unfit = false;
	private seeking: Promise<boolean> | undefined;
	private closed = false;

	constructor(private readonly greet: () => Record<string, unknown>) {}

	get command(): string[] {
		return this.installed?.command ?? ["ullage"];
	}

	get again(): string {
		return this.installed?.again ?? "ullage pi install";
	}

	get version(): string {
		return this.installed?.version ?? "unknown";
	}

	/** Whether private things must stay in: as the daemon says that was met, or the one that was started last, if ever one was. */
	get privacy(): boolean {
		return this.lacking || this.met?.privacy === true || (this.look() ?? this.installed)?.privacy === true;
	}

	/**
	 * Looks for the daemon. One that does not run is started: once; with privacy on whenever it is asked for, but for a while after
	 * a start that came to nothing. Never throws.
	 */
	async meet(): Promise<boolean> {
		this.asked = Date.now();
		this.closed = false;
		if (await this.hello()) return true;
		if (this.unfit) return false;
		if (this.privacy && performance.now() - this.failed.at < START_AGAIN_MS) this.problem = this.failed.why;
		else if (this.privacy || !this.started) await this.start();
		return this.met !== undefined;
	}

	/**
	 * Whether it is there. One that was started anew may have other settings, so that it is met at once. Where there is none, it is
	 * looked for from time to time, which nobody waits for; but with privacy on at once, since nothing goes without it.
	 */
	async there(): Promise<boolean> {
		const pid = this.look()?.pid;
		if (pid !== undefined && pid !== this.address?.pid) await this.hello();
		if (this.met !== undefined) return true;
		if (this.privacy) return this.seek();
		if (Date.now() - this.asked > ASK_AGAIN_MS) void this.meet();
		return false;
	}

	/**
	 * Says something to the daemon. With privacy on, one that has gone is told again once it is back. Throws `DaemonError` where it
	 * does not answer in time, or not as it should.
	 */
	async ask<T>(route: string, said: unknown, deadline: number): Promise<T> {
		try {
			return await this.say(route, said, deadline);
		} catch (error) {
			if (!(error instanceof Gone) || this.closed || !this.privacy) throw error;
		}
		if (!(await this.there())) throw new DaemonError(this.problem);
		return this.say(route, said, deadline);
	}

	close(): void {
		this.closed = true;
		this.agent.destroy();
	}

	/** As `meet`, once for all who wait for it. */
	private seek(): Promise<boolean> {
		this.seeking ??= this.meet().finally(() => (this.seeking = undefined));
		return this.seeking;
	}

	private async say<T>(route: string, said: unknown, deadline: number): Promise<T> {
		const address = this.address;
		if (address === undefined) throw new Gone(NONE);
		const { status, text } = await this.post(address, route, JSON.stringify(said), deadline);
		let told: any;
		try {
			told = JSON.parse(text);
		} catch {
			throw this.lost(address, new DaemonError(`answered ${status} with what is no JSON`));
		}
		if (status !== 200) throw new DaemonError(told?.error?.message ?? `answered ${status}`, told?.error?.code);
		return told as T;
	}

	private async hello(): Promise<boolean> {
		this.unfit = false;
		this.address = this.look();
		if (this.address === undefined) return this.without(NONE);
		if (!LOOPBACK.test(this.address.url)) {
			return this.without(`it listens at ${this.address.url}, which other machines may be at`);
		}
		try {
			this.token = readFileSync(this.address.token_file, "utf8").trim();
			const met = await this.say<Hello>("hello", this.greet(), DEADLINES.hello);
			if (met.protocol !== PROTOCOL) {
				this.unfit = true;
				return this.without(MISMATCH);
			}
			this.met = met;
			this.lacking = false;
			this.problem = "";
			this.started = false; // should it crash, it is started once more
			return true;
		} catch (error) {
			if (error instanceof DaemonError && error.code === PRIVACY) this.lacking = this.unfit = true;
			return this.without(reason(error));
		}
	}

	private without(problem: string): false {
		this.met = undefined;
		this.problem = problem;
		return false;
	}

	private look(): Address | undefined {
		return this.installed && read<Address>(this.installed.address);
	}

	private async start(): Promise<void> {
		this.started = true;
		await this.launch();
		if (this.met === undefined) this.failed = { at: performance.now(), why: this.problem };
	}

	/** Starts the daemon, unless another Pi is at it, and waits until one answers, or ours has ended. */
	private async launch(): Promise<void> {
		if (this.installed === undefined) return;
		const folder = dirname(this.installed.address);
		const mark = join(folder, "daemon.starting");
		let ended = false;
		const ours = claim(folder, mark);
		try {
			if (ours) this.spawn(folder, () => (ended = true));
			const until = Date.now() + DEADLINES.start;
			while (Date.now() < until) {
				const last = ended;
				if ((await this.hello()) || this.unfit) return;
				if (last) {
					this.problem = `it could not be started, ${join(folder, "daemon.log")} says why`;
					return;
				}
				await new Promise((done) => setTimeout(done, 50));
			}
		} catch (error) {
			this.problem = `it could not be started: ${reason(error)}`;
		} finally {
			if (ours) rmSync(mark, { force: true });
		}
	}

	/** Not in this folder, whose settings are not those of others. */
	private spawn(folder: string, ended: () => void): void {
		const log = openSync(join(folder, "daemon.log"), "a", 0o600);
		const [program, ...before] = this.command;
		const child = spawn(program!, [...before, "serve"], { cwd: folder, detached: true, stdio: ["ignore", log, log] });
		child.on("error", ended).on("exit", ended);
		child.unref();
		closeSync(log);
	}

	/** It cannot be asked, unless another one was met since. */
	private lost(address: Address, why: DaemonError): DaemonError {
		if (this.address !== address) return why;
		this.without(why.message);
		this.asked = Date.now();
		return why;
	}

	private post(address: Address, route: string, body: string, deadline: number): Promise<{ status: number; text: string }> {
		return new Promise((done, failed) => {
			const sent = request(
				`${address.url}/ullage/v1/pi/${route}`,
				{
					method: "POST",
					agent: this.agent,
					headers: {
						authorization: `Bearer ${this.token}`,
						"content-type": "application/json",
						"content-length": Buffer.byteLength(body),
					},
				},
				(answer) => {
					const pieces: Buffer[] = [];
					answer.on("data", (piece) => pieces.push(piece));
					answer.on("error", (error) => fail(gone(error)));
					answer.on("end", () => {
						clearTimeout(timer);
						done({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString("utf8") });
					});
				},
			);
			let over = false;
			const fail = (why: DaemonError) => {
				if (over) return; // what was given up fails once more
				over = true;
				clearTimeout(timer);
				failed(this.lost(address, why));
			};
			const timer = setTimeout(() => {
				fail(new DaemonError(`it did not answer within ${deadline} ms`));
				sent.destroy();
			}, deadline);
			sent.on("error", (error) => fail(gone(error)));
			sent.end(body);
		});
	}
}

const NONE = "no daemon runs";
/** How calls fail whose daemon has ended, depending on when: the user is told of it once. */
const ENDED = ["ECONNREFUSED", "ECONNRESET", "EPIPE"];
/** The code of what privacy keeps from being done. */
const PRIVACY = "privacy_refused";
export const MISMATCH = "extension and daemon do not fit together";

export function reason(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

function gone(error: NodeJS.ErrnoException): Gone {
	return new Gone(ENDED.includes(error.code ?? "") ? NONE : error.message);
}

/** Whether it is for us to start the daemon: not while another Pi does. A mark that was left behind holds for a moment. */
function claim(folder: string, mark: string): boolean {
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		if (Date.now() - (statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > DEADLINES.start) rmSync(mark);
		closeSync(openSync(mark, "wx", 0o600));
		return true;
	} catch {
		return false;
	}
}

function read<T>(file: string): T | undefined {
	try {
		return JSON.parse(readFileSync(file, "utf8")) as T;
	} catch {
		return undefined;
	}
}
