import type { Node } from './group-records.js';
import type { Call } from './record-file.js';
import type { WaitGraph } from './wait-graph.js';

/** When the last rank began each collective, in common time. */
export type LastBegins = ReadonlyMap<string, number>;

/** For each collective that all ranks have made, when the last of them began it, in common time. */
export function lastBegins(groups: WaitGraph['groups']): LastBegins {
  const lasts = new Map<string, number>();
  for (const { id, members, missing } of groups.values()) {
    const [first, ...others] = members.values();
    if (!first || missing.length > 0 || members.has(-1)) continue;
    for (const [number, call] of first.calls) {
      let last = call.begun === 0 ? undefined : call.begun + first.node.seen.offset;
      for (const { calls, node } of others) {
        const begun = calls.get(number)?.begun;
        last = begun && last ? Math.max(last, begun + node.seen.offset) : undefined;
        if (!last) break;
      }
      if (last) lasts.set(`${number} ${id}`, last);
    }
  }
  return lasts;
}

/** Microseconds that a call waited for other ranks: what the engine has measured, or else until the last rank began it. */
export function waitOf(call: Call, { seen: { offset } }: Node, lasts: LastBegins): number {
  if (call.waited > 0) return Math.min(call.waited, call.ended - call.begun);
  const last = lasts.get(`${call.number} ${call.part.group}`);
  if (last === undefined || call.verb === 'send' || call.verb === 'receive') return 0;
  return Math.max(0, Math.min(last - offset, call.ended) - call.begun);
}

/** Microseconds during which at least one of the calls was under way. */
export function covered(calls: readonly Call[]): number {
  let [sum, until] = [0, 0];
  for (const { begun, ended } of [...calls].sort((a, b) => a.begun - b.begun)) {
    sum += Math.max(0, ended - Math.max(begun, until));
    until = Math.max(until, ended);
  }
  return sum;
}

/** The greatest of any number of values that are not negative; 0 if there are none. */
export function maximum(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
