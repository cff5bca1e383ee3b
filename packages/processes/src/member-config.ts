import { hkdfSync } from 'node:crypto';
import { ValueError } from '@coll/core';
import { optionsOf, quote, requireCheckResults, requireSignal, requireTimeout } from '@coll/core/internal';
import { memberFromEnvironment } from '@coll/rendezvous';
import {
  type Environment,
  generationFromEnvironment,
  jobKeyFromEnvironment,
  membershipFrom,
  requireJobKey,
  requireStore,
} from '@coll/rendezvous/internal';
import { type OpenProcessGroupOptions, openProcessGroupOptions } from './options.js';

/** How members exchange data. `'auto'` uses shared memory if it works, and TCP otherwise. */
export type Transport = 'auto' | 'shared-memory' | 'tcp';

/** All ways in which members can exchange data. */
export const transports: readonly Transport[] = ['auto', 'shared-memory', 'tcp'];

/** Which connections are encrypted. */
export type Encrypt = 'between-hosts' | 'always';

/** All values of `Encrypt`. */
export const encryptions: readonly Encrypt[] = ['between-hosts', 'always'];

/** A member's validated settings, from options and environment. */
export interface MemberConfig {
  readonly rank: number;
  readonly size: number;
  readonly generation: number;
  readonly job: string;
  /** Key that authenticates the group's connections, derived from the job key. */
  readonly key: Buffer;
  readonly host: string;
  readonly encrypt: Encrypt;
  readonly insecure: boolean;
  /** What has decided `insecure`, for error messages. */
  readonly insecureBy: string;
  readonly transport: Transport;
  readonly streams: number | 'auto';
  readonly heartbeatSeconds: number;
  /** Upper bound of this member's tensor memory in bytes; 0 means as much as the machine has. */
  readonly maxBytes: number;
  /** After how many collectives members compare results; 0 means never. */
  readonly checkResults: number;
  /** Seconds within which the group must be open; undefined means no limit. */
  readonly timeoutSeconds: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** If the group is made by `split`: the rank of each member in the whole group. */
  readonly whole?: readonly number[] | undefined;
  /** If the group is made by `split`: the id of the group that is split, in records. */
  readonly parent?: string | undefined;
}

const mostMembers = 1024;

/**
 * Validates a member's options, and reads omitted ones from the environment.
 * @throws ValueError for invalid options, and for an omitted option whose environment variable is
 * not set
 */
export function memberOf(given: OpenProcessGroupOptions, environment: Environment = process.env): MemberConfig {
  const options: OpenProcessGroupOptions = optionsOf(given, "such as { transport: 'tcp' }", openProcessGroupOptions);
  const place = placeOf(options, environment);
  const { transport = 'auto', streams = 'auto', signal } = options;
  const encrypt = options.encrypt ?? ((environment['COLL_ENCRYPT'] || 'between-hosts') as Encrypt);
  const host = options.host ?? (environment['COLL_HOST'] || '127.0.0.1');
  const isInsecureHere = isSet('COLL_INSECURE', environment);
  const insecure = options.insecure ?? isInsecureHere;
  const jobKey = options.jobKey ?? jobKeyFromEnvironment(environment);
  const job = options.job ?? environment['COLL_JOB'] ?? '';
  const { timeoutSeconds = 60, checkResults = 0 } = options;
  demand(
    typeof host === 'string' && host !== '',
    `host must be an address, a host name or an interface, got ${quote(host)}`,
  );
  demand(typeof job === 'string', `job must be a string, got ${quote(job)}`);
  demand(transports.includes(transport), `transport must be one of ${transports.join(', ')}, got ${quote(transport)}`);
  demand(typeof insecure === 'boolean', `insecure must be true or false, got ${quote(insecure)}`);
  demand(
    encryptions.includes(encrypt),
    `encrypt or COLL_ENCRYPT must be one of ${encryptions.join(', ')}, got ${quote(encrypt)}`,
  );
  const insecureBy = deciderOf(options.insecure, isInsecureHere);
  demand(
    !insecure || encrypt !== 'always',
    `encrypt: 'always' and insecure: true (by ${insecureBy}) contradict each other: set one of them`,
  );
  requireCheckResults(checkResults);
  requireTimeout(timeoutSeconds);
  requireSignal(signal);
  if (options.store !== undefined) requireStore(options.store);
  return {
    ...place,
    job,
    key: keyOf(jobKey),
    host,
    encrypt,
    insecure,
    insecureBy,
    transport,
    streams: streams === 'auto' ? streams : within('streams', streams, 1, 16),
    heartbeatSeconds: seconds(options.heartbeatSeconds ?? 5),
    maxBytes: within('maxBytes', options.maxBytes ?? 0, 0, Number.MAX_SAFE_INTEGER),
    checkResults,
    timeoutSeconds: timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds : undefined,
    signal,
  };
}

function placeOf(
  { rank, size, generation }: OpenProcessGroupOptions,
  environment: Environment,
): Pick<MemberConfig, 'rank' | 'size' | 'generation'> {
  const isGiven = rank !== undefined && size !== undefined;
  const membership = isGiven ? { rank, size } : (launched(environment) ?? memberFromEnvironment(environment));
  const place = {
    rank: rank ?? membership.rank,
    size: size ?? membership.size,
    generation: generation ?? generationFromEnvironment(environment),
  };
  within('size', place.size, 1, mostMembers);
  within('rank', place.rank, 0, place.size - 1);
  within('generation', place.generation, 0, 2 ** 32 - 1);
  return place;
}

/** The rank and the size that the launcher reports; undefined if the variables of `coll run` do, or none. */
function launched(environment: Environment): { readonly rank: number; readonly size: number } | undefined {
  const found = environment['COLL_RANK'] ? undefined : membershipFrom(environment);
  if (!found) return undefined;
  const { launcher, rank, size } = found;
  if (size !== undefined) return { rank, size };
  throw new ValueError('ERR_COLL_CLUSTER', `${launcher} does not say how many members there are: set COLL_SIZE`);
}

function isSet(name: string, environment: Environment): boolean {
  const text = environment[name] || '0';
  demand(/^(0|1|true|false)$/.test(text), `${name} must be 0 or 1, got ${quote(text)}`);
  return text === '1' || text === 'true';
}

/** What has decided whether data between hosts may be unencrypted: the option, the environment or neither. */
function deciderOf(option: boolean | undefined, isInsecureHere: boolean): string {
  if (option === undefined) return isInsecureHere ? 'COLL_INSECURE' : 'default';
  const isOverruled = !option && isInsecureHere;
  return `the option insecure${isOverruled ? ', which overrules COLL_INSECURE=1' : ''}`;
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
