import { isIPv6 } from 'node:net';
import { ValueError } from '@coll/core';
import { hostStore } from './hosted-store.js';
import { howToSet, newJobKey } from './job-key.js';
import type { Environment } from './launchers/environment.js';
import { type Membership, membersAreLocal } from './launchers/membership.js';
import { storePlace } from './launchers/store-place.js';
import { reachableAddress } from './own-address.js';
import { type Announcement, decodeAnnouncement, encodeAnnouncement } from './pmi/announcement.js';
import { type LauncherChannel, launcherChannel } from './pmi/launcher-channel.js';
import type { WaitOptions } from './store.js';
import { Waits } from './waiting.js';

/** The member that looks for the store of its group. */
export interface LauncherStoreRequest extends WaitOptions {
  readonly membership: Membership;
  readonly environment: Environment;
  /** The address at which other members reach this member. Default: `COLL_HOST`, else as the launcher says. */
  readonly host?: string | undefined;
  readonly job: string;
  readonly jobKey: string | undefined;
}

/** The store in which the members of a launcher's group meet. */
export interface LauncherStore {
  /** `tcp://host:port`, with an address of this host if this member hosts the store. */
  readonly address: string;
  readonly jobKey: string;
  /** Whether this member, rank 0, hosts the store. */
  readonly isHere: boolean;
}

/** What rank 0 has announced; a launcher passes one text per process. */
let announced: Promise<Announcement> | undefined;

/**
 * Finds the store of a group whose launcher does not provide one. If the launcher passes texts on
 * (PMI), rank 0 hosts the store at any port and announces it, with a job key if there is none.
 * Otherwise it hosts the store at an address that all members derive from the launcher's variables.
 * @throws ValueError (ERR_COLL_CLUSTER) without a job key, or if the launcher does not say where
 * rank 0 runs; DeadlineExceededError and AbortedError while not all members have asked the
 * launcher; CollError (ERR_COLL_STORE) if it does not pass the text on
 */
export async function launcherStore(request: LauncherStoreRequest): Promise<LauncherStore> {
  const { membership, environment } = request;
  const isHere = membership.rank === 0;
  announced ??= announcementOver(launcherChannel(membership, environment), request);
  if (announced) {
    const { address, jobKey = request.jobKey } = await announced;
    if (!jobKey) throw noJobKey(membership);
    return { address, jobKey, isHere };
  }
  const { jobKey } = request;
  if (!jobKey) throw noJobKey(membership);
  const place = storePlace(membership, environment);
  if (place.host === undefined && !(isHere && membership.launcher === 'AWS Batch')) {
    const message = `${membership.launcher} does not say on which host rank 0 runs`;
    const advice =
      'set COLL_STORE, COLL_JOB and COLL_JOB_KEY on all members as `coll store --print-env` prints them, or pass a clusterResolver';
    throw new ValueError('ERR_COLL_CLUSTER', `${message}: ${advice}`);
  }
  const host = isHere ? await ownAddress(request, place.host) : (place.host as string);
  return { address: storeUrl(host, place.port), jobKey, isHere };
}

function announcementOver(
  channel: LauncherChannel | undefined,
  request: LauncherStoreRequest,
): Promise<Announcement> | undefined {
  if (!channel) return undefined;
  const { membership, job, environment } = request;
  const isTrusted = membersAreLocal(membership) || environment['COLL_TRUST_LAUNCHER'] === '1';
  if (!request.jobKey && !isTrusted) throw noJobKey(membership);
  const exchange = async (over: AbortSignal) => {
    if (membership.rank !== 0) return decodeAnnouncement(await channel.exchange(undefined, over));
    const jobKey = request.jobKey ?? newJobKey();
    const { address } = await hostStore({ job, jobKey, host: await ownAddress(request) });
    const own = { address, jobKey: request.jobKey ? undefined : jobKey };
    await channel.exchange(encodeAnnouncement(own), over);
    return own;
  };
  const awaited = {
    operation: 'start',
    key: 'the PMI barrier of the launcher',
    problem: 'was not reached by all ranks',
  };
  return new Waits().within(awaited, request, exchange);
}

/** The address at which this member's store listens. */
async function ownAddress(
  { membership, environment, host }: LauncherStoreRequest,
  announced?: string,
): Promise<string> {
  if (membersAreLocal(membership)) return '127.0.0.1';
  return reachableAddress(announced, host ?? environment['COLL_HOST']);
}

function storeUrl(host: string, port: number): string {
  return `tcp://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function noJobKey({ launcher }: Membership): ValueError {
  const trust = 'if the launcher serves PMI and its network is trusted, COLL_TRUST_LAUNCHER=1 lets it pass a key on';
  return new ValueError(
    'ERR_COLL_CLUSTER',
    `COLL_JOB_KEY is not set, and ${launcher} passes none on: ${howToSet}; ${trust}`,
  );
}
