// Pi's models in the words of the daemon.

export interface PiModel {
	provider: string;
	id: string;
	api?: string;
	baseUrl?: string;
	contextWindow?: number;
	maxTokens?: number;
	reasoning?: boolean;
	input?: string[];
	thinkingLevelMap?: Record<string, unknown>;
	/** What some hosts have in its place: the levels that the model has. */
	thinking?: { efforts?: readonly string[] };
	cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
}

/** All levels of thinking but none at all. */
const LEVELS = ["minimal", "low", "medium", "high", "xhigh", "max"];

const whole = (value: unknown) => (Number.isInteger(value) && (value as number) > 0 ? value : undefined);
const price = (value: unknown) => (typeof value === "number" && value >= 0 ? value : undefined);

export function plainModel(model: PiModel): Record<string, unknown> {
	return {
		provider: model.provider,
		id: model.id,
		api: model.api ?? "",
		base_url: model.baseUrl ?? "",
		context_window: whole(model.contextWindow),
		max_tokens: whole(model.maxTokens),
		reasoning: model.reasoning === true,
		images: model.input?.includes("image") === true,
		levels: levelsOf(model),
		input: price(model.cost?.input),
		output: price(model.cost?.output),
		cache_read: price(model.cost?.cacheRead),
		cache_write: price(model.cost?.cacheWrite),
	};
}

/** What a model calls each level of thinking; null is a level that it does not have. */
function levelsOf(model: PiModel): Record<string, string | null> {
	const efforts = model.thinking?.efforts;
	if (efforts !== undefined) return Object.fromEntries(LEVELS.filter((one) => !efforts.includes(one)).map((one) => [one, null]));
	const known = Object.entries(model.thinkingLevelMap ?? {});
	return Object.fromEntries(known.filter(([, name]) => name === null || typeof name === "string")) as any;
}

/** The models that Pi may use: what its scope holds, else what it has credentials for. Those that stand for others are none. */
export function usable(ctx: { scopedModels?: readonly { model: unknown }[]; modelRegistry: { getAvailable(): unknown[] } }): PiModel[] {
	const scoped = (ctx.scopedModels ?? []).map(({ model }) => model as PiModel);
	const models = (scoped.some(isPhysical) ? scoped : ctx.modelRegistry.getAvailable()) as PiModel[];
	return models.filter(isPhysical);
}

export function isPhysical(model: PiModel): boolean {
	return model.api !== "pi-virtual" && model.provider !== "ullage";
}
