// Loaded by Pi twice, before the extension and after it: what the extension's hook takes, and the bytes that it says to the daemon.

import { appendFileSync } from "node:fs";
import { subscribe } from "node:diagnostics_channel";

const probe: any = ((globalThis as any).ullageProbe ??= { loaded: false, began: 0, ms: 0, bytes: 0 });

export default function (pi: any): void {
	if (probe.loaded) {
		pi.on("context_with_system", () => {
			probe.ms = performance.now() - probe.began;
		});
		return;
	}
	probe.loaded = true;
	subscribe("http.client.request.start", ({ request }: any) => {
		if (request.path === "/ullage/v1/pi/context") probe.bytes += Number(request.getHeader("content-length"));
	});
	pi.on("context_with_system", () => {
		probe.bytes = 0;
		probe.began = performance.now();
	});
	pi.on("agent_end", () => {
		appendFileSync(process.env.ULLAGE_PROBE!, `${JSON.stringify({ ms: probe.ms, bytes: probe.bytes })}\n`);
	});
}
