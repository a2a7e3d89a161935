// What Pi says of itself, for the commands that tell of it: what it offers, where the session stands, when it compacts, and what it
// has summarised. Numbers and names alone; what an older Pi does not tell is left out.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type PiModel, plainModel, usable } from "./models.ts";

const MOST_SUMMARIES = 24;

interface Failed {
	at: string;
	reason: string;
	message: string;
}

export class Account {
	private failed: Failed | undefined;
	private library: any;

	constructor(private readonly pi: ExtensionAPI) {
		import("@earendil-works/pi-coding-agent").then(
			(library) => void (this.library = library),
			() => {}, // not Pi itself, but one of its kin
		);
		(pi as any).on("session_compact_failed", (event: any) => {
			this.failed = {
				at: new Date().toISOString(),
				reason: String(event.reason ?? "unknown"),
				message: String(event.errorMessage ?? (event.aborted ? "aborted" : "")).slice(0, 300),
			};
		});
	}

	tell(ctx: ExtensionContext, summarizes: string, problem: string): Record<string, unknown> {
		const manager = ctx.sessionManager as any;
		const entries: any[] = manager.getEntries?.() ?? [];
		const branch: any[] = manager.getBranch?.() ?? [];
		const usage = (ctx as any).getContextUsage?.();
		return {
			version: typeof this.library?.VERSION === "string" ? this.library.VERSION : "",
			mode: (ctx as any).mode ?? "",
			problem,
			apis: this.apis(ctx),
			trusted: (ctx as any).isProjectTrusted?.(),
			file: manager.getSessionFile?.(),
			entries: entries.length,
			branch: branch.length,
			tokens: usage?.tokens ?? undefined,
			window: usage?.contextWindow ?? (ctx.model as PiModel | undefined)?.contextWindow,
			compaction: this.thresholds(ctx),
			compacting: summarizes === "compaction",
			failed: this.failed,
			summaries: summaries(entries, new Set(branch.map((entry) => entry.id))),
			models: usable(ctx).map(plainModel),
		};
	}

	private apis(ctx: ExtensionContext): Record<string, boolean> {
		const has = (holder: any, name: string) => typeof holder?.[name] === "function";
		return {
			registerVirtualModel: has(this.pi, "registerVirtualModel"),
			getSettings: has(this.pi, "getSettings"),
			appendEntry: has(this.pi, "appendEntry"),
			scopedModels: "scopedModels" in ctx,
			mode: "mode" in ctx,
			isProjectTrusted: has(ctx, "isProjectTrusted"),
			getContextUsage: has(ctx, "getContextUsage"),
			buildSessionContext: has(ctx.sessionManager, "buildSessionContext"),
			convertToLlm: has(this.library, "convertToLlm"),
			setWidget: ctx.hasUI && has(ctx.ui, "setWidget"),
			setStatus: ctx.hasUI && has(ctx.ui, "setStatus"),
		};
	}

	/** As Pi's settings have it, which older versions do not tell: then its defaults. */
	private thresholds(ctx: ExtensionContext): Record<string, unknown> {
		const settings = (this.pi as any).getSettings?.();
		const model = ctx.model as PiModel | undefined;
		const own = settings?.compaction?.modelOverrides?.[`${model?.provider}/${model?.id}`];
		const held = { ...this.library?.DEFAULT_COMPACTION_SETTINGS, ...settings?.compaction, ...own };
		return {
			told: settings !== undefined,
			enabled: held.enabled,
			reserve_tokens: held.reserveTokens,
			keep_recent_tokens: held.keepRecentTokens,
		};
	}
}

/** The newest first. */
function summaries(entries: any[], branch: Set<string>): Record<string, unknown>[] {
	const found = entries.filter(({ type }) => type === "compaction" || type === "branch_summary");
	return found
		.reverse()
		.slice(0, MOST_SUMMARIES)
		.map((entry) => ({
			id: entry.id,
			kind: entry.type,
			at: entry.timestamp,
			before: entry.tokensBefore,
			kept: entry.firstKeptEntryId ?? undefined,
			chars: entry.summary?.length ?? 0,
			cost: entry.usage?.cost?.total,
			on_branch: branch.has(entry.id),
			by_extension: entry.fromHook === true,
		}));
}
