import type { CallEvent, GroupEvent } from '@coll/core';
import { errorType } from './spans.js';
import { subscribe } from './subscribe.js';

/** The metrics of this package, for whatever keeps their values. */
export interface Meters {
  /** Attributes of each metric are in this order. */
  readonly calls: (count: number, attributes: MetricAttributes) => void;
  readonly bytes: (count: number, attributes: MetricAttributes) => void;
  readonly duration: (seconds: number, attributes: MetricAttributes) => void;
  readonly groups: (change: number, attributes: MetricAttributes) => void;
  readonly groupsLost: (count: number, attributes: MetricAttributes) => void;
}

export type MetricAttributes = Readonly<Partial<Record<AttributeName, string | number>>>;
export type AttributeName = 'coll.operation' | 'coll.rank' | 'error.type';

/** What each metric counts, its unit and its attributes. */
export const definitions = {
  calls: {
    name: 'coll.calls',
    unit: '{call}',
    description: 'Collectives and messages that have ended',
    attributes: ['coll.operation', 'coll.rank', 'error.type'],
  },
  bytes: {
    name: 'coll.bytes',
    unit: 'By',
    description: 'Bytes of the inputs or outputs of calls that have succeeded, whichever are larger',
    attributes: ['coll.operation', 'coll.rank'],
  },
  duration: {
    name: 'coll.duration',
    unit: 's',
    description: 'Duration of collectives and messages, which includes waiting for other ranks',
    attributes: ['coll.operation', 'coll.rank', 'error.type'],
  },
  groups: {
    name: 'coll.groups',
    unit: '{group}',
    description: 'Groups in which a rank of this process takes part',
    attributes: ['coll.rank'],
  },
  groupsLost: {
    name: 'coll.groups.lost',
    unit: '{group}',
    description: 'Groups that have failed',
    attributes: ['coll.rank', 'error.type'],
  },
} as const satisfies Record<
  keyof Meters,
  { name: string; unit: string; description: string; attributes: readonly AttributeName[] }
>;

/** Bounds of the buckets of durations, in seconds: calls of threads take microseconds. */
export const durationBounds = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

/** Records metrics of the calls and groups of this thread. Returns a function that ends this. */
export function recordMetrics(meters: Meters): () => void {
  const ofRank = ({ rank }: { readonly rank: number }) => ({ 'coll.rank': rank });
  // The group of a replica is open before the replica can subscribe.
  const open = new Set<string>();
  const enter = (event: CallEvent | GroupEvent) => {
    if (event.rank < 0 || open.has(event.group)) return;
    open.add(event.group);
    meters.groups(1, ofRank(event));
  };
  return subscribe({
    begin(event: CallEvent) {
      enter(event);
      const begun = performance.now();
      return () => {
        const seconds = (performance.now() - begun) / 1000;
        const call = { 'coll.operation': event.operation, 'coll.rank': event.rank };
        const ended = 'error' in event ? { ...call, 'error.type': errorType(event.error) } : call;
        meters.calls(1, ended);
        meters.duration(seconds, ended);
        if (!('error' in event)) meters.bytes(event.bytes, call);
      };
    },
    opened: enter,
    closed(event) {
      if (open.delete(event.group)) meters.groups(-1, ofRank(event));
    },
    lost: (event) => meters.groupsLost(1, { ...ofRank(event), 'error.type': event.code }),
  });
}
