// What fills the context before anything was said, on Pi's screen until the first prompt: summary, compact and expanded, one after
// the other with the key that expands tools (Ctrl+O). The daemon draws; what is shown here is its text.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Bridge } from "./bridge.ts";

const NAME = "ullage-context";
const VIEWS = ["summary", "compact", "expanded"];
/** Pi reads its skills and prompts after a session has begun. */
const SETTLED_MS = 200;

type Views = Record<string, string>;

export class Panel {
	private shown = false;
	private timer: NodeJS.Timeout | undefined;

	constructor(private readonly bridge: Bridge) {}

	/** Shows it, where there is a screen to show it on, and it is wanted. */
	show(ctx: ExtensionContext, quiet: boolean): void {
		const mode = (ctx as { mode?: string }).mode ?? "tui";
		if (!ctx.hasUI || !ctx.ui.setWidget || mode !== "tui" || quiet) return;
		this.shown = true;
		this.timer = setTimeout(() => {
			ctx.ui.setWidget(NAME, (tui) => new Screen(this.bridge, ctx, () => tui.requestRender()));
		}, SETTLED_MS);
	}

	hide(ctx: ExtensionContext): void {
		if (!this.shown) return;
		this.shown = false;
		clearTimeout(this.timer);
		ctx.ui.setWidget(NAME, undefined);
	}
}

/** The component: Pi asks it for lines, it asks the daemon for views of that width. */
class Screen {
	private views: Views = {};
	private width = 0;
	private view = 0;
	private expanded = false;

	constructor(
		private readonly bridge: Bridge,
		private readonly ctx: ExtensionContext,
		private readonly redraw: () => void,
	) {
		this.expanded = this.isExpanded();
	}

	render(width: number): string[] {
		if (width !== this.width) {
			this.width = width;
			this.ask();
		}
		const expanded = this.isExpanded();
		if (expanded !== this.expanded) {
			this.expanded = expanded;
			this.view = (this.view + 1) % VIEWS.length;
		}
		const text = this.views[VIEWS[this.view]!];
		return text === undefined ? [] : text.trimEnd().split("\n").map((line) => this.bridge.host.cut(line, width));
	}

	invalidate(): void {}

	/** Drawn once more after its session has ended, it stays as it was. */
	private isExpanded(): boolean {
		return this.bridge.ctx === undefined ? this.expanded : (this.ctx.ui.getToolsExpanded?.() ?? false);
	}

	private ask(): void {
		this.bridge.panel(this.ctx, this.width).then(
			(views) => {
				this.views = views;
				if (this.bridge.ctx !== undefined) this.redraw();
			},
			() => {}, // there is no daemon, which was told of already
		);
	}
}
