import { ValueError } from '@coll/core';
import { optionsOf, quote } from '@coll/core/internal';
import { jobKeyFromEnvironment } from './environment-key.js';
import type { JoinGroupOptions } from './join-group.js';
import { waitOptions } from './store.js';
import { TcpStore, type TcpStoreOptions } from './tcp-store.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Connects to the store of this process's job. `coll run` sets its address, job name and key in
 * `COLL_STORE`, `COLL_JOB` and `COLL_JOB_KEY` or `COLL_JOB_KEY_FILE`. Retries for up to `timeoutSeconds` (default: 60).
 * @throws ValueError if a variable is missing or invalid; also the errors of `TcpStore.connect`
 *
 * @example
 * ```ts
 * import { storeFromEnvironment, TcpStoreServer } from '@coll/rendezvous';
 *
 * const jobKey = TcpStoreServer.newKey();
 * await using server = await TcpStoreServer.listen({ job: 'train', jobKey });
 * const environment = { COLL_STORE: server.address, COLL_JOB: 'train', COLL_JOB_KEY: jobKey };
 * // Under `coll run` without an argument.
 * await using store = await storeFromEnvironment(environment);
 * console.log(await store.add('arrived', 1)); // 1
 * ```
 */
export async function storeFromEnvironment(
  environment: Environment = process.env,
  options: Pick<TcpStoreOptions, 'signal' | 'timeoutSeconds'> = {},
): Promise<TcpStore> {
  const wait = optionsOf(options, '{ timeoutSeconds: 60 }', waitOptions);
  const address = requireVariable(environment, 'COLL_STORE');
  const job = requireVariable(environment, 'COLL_JOB');
  const jobKey = jobKeyFromEnvironment(environment) ?? requireVariable(environment, 'COLL_JOB_KEY');
  return TcpStore.connect({ ...wait, address, job, jobKey });
}

/**
 * Reads this process's options for `joinGroup` from `COLL_RANK`, `COLL_SIZE` and `COLL_GENERATION`
 * (default: 0).
 * @throws ValueError if a variable is missing or not a whole number
 *
 * @example
 * ```ts
 * import { memberFromEnvironment } from '@coll/rendezvous';
 *
 * // Under `coll run` without an argument.
 * const member = memberFromEnvironment({ COLL_RANK: '1', COLL_SIZE: '4' });
 * console.log(member); // { generation: 0, rank: 1, size: 4 }
 * ```
 */
export function memberFromEnvironment(
  environment: Environment = process.env,
): Required<Pick<JoinGroupOptions, 'generation' | 'rank' | 'size'>> {
  return {
    generation: generationFromEnvironment(environment),
    rank: wholeNumber('COLL_RANK', requireVariable(environment, 'COLL_RANK')),
    size: wholeNumber('COLL_SIZE', requireVariable(environment, 'COLL_SIZE')),
  };
}

/**
 * The generation of the group that this process joins (0, or higher after a failure):
 * `COLL_GENERATION`, or 0 if the variable is not set.
 * @throws ValueError if the variable is not a whole number
 */
export function generationFromEnvironment(environment: Environment = process.env): number {
  return wholeNumber('COLL_GENERATION', environment['COLL_GENERATION'] || '0');
}

/** The name of the job: `COLL_JOB`, else `multi-worker`. */
export function jobFromEnvironment(environment: Environment = process.env): string {
  return environment['COLL_JOB'] || 'multi-worker';
}

/**
 * The address at which the other members reach this member, unless its options say so: `COLL_HOST`,
 * else the address from which this process has reached the store.
 */
export function hostFromEnvironment(store: TcpStore, environment: Environment = process.env): string {
  return environment['COLL_HOST'] || store.localAddress;
}

function requireVariable(environment: Environment, name: string): string {
  const text = environment[name];
  if (text) return text;
  const advice = 'start the program with `coll run`, or set the variables that it sets';
  throw new ValueError('ERR_COLL_CLUSTER', `the environment variable ${name} is not set: ${advice}`);
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ValueError('ERR_COLL_CLUSTER', `${name} must be a whole number, 0 or more, got ${quote(text)}`);
}
