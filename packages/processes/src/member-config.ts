import { hkdfSync } from 'node:crypto';
import { ValueError } from '@coll/core';
import { optionsOf, quote, requireSignal, requireTimeout } from '@coll/core/internal';
import { memberFromEnvironment, type Store, storeFromEnvironment } from '@coll/rendezvous';
import { generationFromEnvironment, requireJobKey, requireStore } from '@coll/rendezvous/internal';
import { type OpenProcessGroupOptions, openProcessGroupOptions } from './options.js';

/** How members exchange data. `'auto'` uses shared memory if it works, and TCP otherwise. */
export type Transport = 'auto' | 'shared-memory' | 'tcp';

/** All ways in which members can exchange data. */
export const transports: readonly Transport[] = ['auto', 'shared-memory', 'tcp'];

/** A member's validated settings, from options and environment. */
export interface MemberConfig {
  readonly rank: number;
  readonly size: number;
  readonly generation: number;
  readonly job: string;
  /** Key that authenticates the group's connections, derived from the job key. */
  readonly key: Buffer;
  readonly host: string;
  readonly insecure: boolean;
  readonly transport: Transport;
  readonly streams: number | 'auto';
  readonly heartbeatSeconds: number;
  /** Upper bound of this member's tensor memory in bytes; 0 means as much as the machine has. */
  readonly maxBytes: number;
  /** Seconds within which the group must be open; undefined means no limit. */
  readonly timeoutSeconds: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const mostMembers = 1024;

/**
 * Validates a member's options, and reads omitted ones from the environment.
 * @throws ValueError for invalid options, and for an omitted option whose environment variable is
 * not set
 */
export function memberOf(
  given: OpenProcessGroupOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): MemberConfig {
  const options: OpenProcessGroupOptions = optionsOf(given, "such as { transport: 'tcp' }", openProcessGroupOptions);
  const place = placeOf(options, environment);
  const { host = '127.0.0.1', transport = 'auto', streams = 'auto', insecure = false, signal } = options;
  const jobKey = options.jobKey ?? environment['COLL_JOB_KEY'];
  const job = options.job ?? environment['COLL_JOB'] ?? '';
  const { timeoutSeconds = 60 } = options;
  demand(
    typeof host === 'string' && host !== '',
    `host must be an address, a host name or an interface, got ${quote(host)}`,
  );
  demand(typeof job === 'string', `job must be a string, got ${quote(job)}`);
  demand(transports.includes(transport), `transport must be one of ${transports.join(', ')}, got ${quote(transport)}`);
  demand(typeof insecure === 'boolean', `insecure must be true or false, got ${quote(insecure)}`);
  requireTimeout(timeoutSeconds);
  requireSignal(signal);
  if (options.store !== undefined) requireStore(options.store);
  return {
    ...place,
    job,
    key: keyOf(jobKey),
    host,
    insecure,
    transport,
    streams: streams === 'auto' ? streams : within('streams', streams, 1, 16),
    heartbeatSeconds: seconds(options.heartbeatSeconds ?? 5),
    maxBytes: within('maxBytes', options.maxBytes ?? 0, 0, Number.MAX_SAFE_INTEGER),
    timeoutSeconds: timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds : undefined,
    signal,
  };
}

/**
 * Returns the store in the options. If there is none, connects to the store in the environment;
 * `isOwn` is then true, and the caller must close the store.
 * @throws the errors of `storeFromEnvironment`
 */
export async function storeOf(
  options: OpenProcessGroupOptions,
  { timeoutSeconds, signal }: MemberConfig,
): Promise<{ readonly store: Store; readonly isOwn: boolean }> {
  if (options.store) return { store: options.store, isOwn: false };
  return {
    store: await storeFromEnvironment(process.env, { timeoutSeconds: timeoutSeconds ?? null, signal }),
    isOwn: true,
  };
}

function placeOf(
  { rank, size, generation }: OpenProcessGroupOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Pick<MemberConfig, 'rank' | 'size' | 'generation'> {
  const isTold = rank !== undefined && size !== undefined;
  const told = isTold ? { rank, size } : memberFromEnvironment(environment);
  const place = {
    rank: rank ?? told.rank,
    size: size ?? told.size,
    generation: generation ?? generationFromEnvironment(environment),
  };
  within('size', place.size, 1, mostMembers);
  within('rank', place.rank, 0, place.size - 1);
  within('generation', place.generation, 0, 2 ** 32 - 1);
  return place;
}

function keyOf(jobKey: unknown): Buffer {
  requireJobKey(jobKey, 'open a group');
  return Buffer.from(hkdfSync('sha256', jobKey, 'coll', 'process group', 32));
}

function seconds(value: number): number {
  const isFine = typeof value === 'number' && value >= 0.05 && value <= 3600;
  demand(isFine, `heartbeatSeconds must be between 0.05 and 3600, got ${quote(value)}`);
  return value;
}

function within(name: string, value: number, least: number, most: number): number {
  const isFine = Number.isInteger(value) && value >= least && value <= most;
  demand(isFine, `${name} must be a whole number from ${least} to ${most}, got ${quote(value)}`);
  return value;
}

function demand(isFine: boolean, problem: string): void {
  if (!isFine) throw new ValueError('ERR_COLL_VALUE', problem, { operation: 'open a group' });
}
