import { type Store, storeFromEnvironment, TcpStore } from '@coll/rendezvous';
import {
  type Environment,
  hostedStore,
  hostFromEnvironment,
  hostStore,
  jobFromEnvironment,
  jobKeyFromEnvironment,
  type LauncherStore,
  launcherStore,
  membershipFrom,
} from '@coll/rendezvous/internal';
import type { MemberConfig } from './member-config.js';
import type { OpenProcessGroupOptions } from './options.js';

/**
 * Finds the store that a member of the group hosts, and starts it if this process is that member.
 * Returns undefined if the options or `COLL_STORE` name a store, or no launcher started this process.
 * @throws the errors of `launcherStore`; CollError (ERR_COLL_STORE) if rank 0 cannot host it
 */
export async function launcherStoreOf(
  options: OpenProcessGroupOptions,
  environment: Environment = process.env,
): Promise<LauncherStore | undefined> {
  const { store, job = jobFromEnvironment(environment), host } = options;
  const { timeoutSeconds = 60, signal } = options;
  if (store !== undefined || environment['COLL_STORE']) return undefined;
  const membership = membershipFrom(environment);
  if (!membership) return undefined;
  const jobKey = options.jobKey ?? jobKeyFromEnvironment(environment);
  const launched = await launcherStore({ membership, environment, host, job, jobKey, timeoutSeconds, signal });
  const { address, isHere } = launched;
  if (!isHere || hostedStore(address)) return launched;
  const { hostname, port } = new URL(address);
  await hostStore({ job, jobKey: launched.jobKey, host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) });
  return launched;
}

/** The store of a group, and the address at which other members reach this one. */
export interface MemberStore {
  readonly store: Store;
  /** Whether the caller must close the store. */
  readonly isOwn: boolean;
  readonly host: string;
}

/**
 * Returns the store in the options. If there is none, connects to that of the launcher or of the
 * environment; its address then decides at which address this member listens.
 * @throws the errors of `storeFromEnvironment`
 */
export async function storeOf(
  options: OpenProcessGroupOptions,
  { timeoutSeconds, signal, host }: MemberConfig,
  launched: LauncherStore | undefined,
): Promise<MemberStore> {
  if (options.store) return { store: options.store, isOwn: false, host };
  const wait = { timeoutSeconds: timeoutSeconds ?? null, signal };
  const job = options.job ?? jobFromEnvironment();
  const store = launched
    ? await TcpStore.connect({ ...wait, address: launched.address, job, jobKey: launched.jobKey })
    : await storeFromEnvironment(process.env, wait);
  return { store, isOwn: true, host: options.host ?? hostFromEnvironment(store) };
}
