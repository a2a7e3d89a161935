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
	cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
}

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
		input: price(model.cost?.input),
		output: price(model.cost?.output),
		cache_read: price(model.cost?.cacheRead),
		cache_write: price(model.cost?.cacheWrite),
	};
}
