import { isIPv6 } from 'node:net';
import { ValueError } from '@coll/core';
import type { Environment } from './launchers/environment.js';
import { meetingPlace } from './launchers/meeting-place.js';
import { type Membership, membersAreLocal } from './launchers/membership.js';
import { reachableAddress } from './own-address.js';

/** The member that looks for the store of its group. */
export interface MeetingRequest {
  readonly membership: Membership;
  readonly environment: Environment;
  /** The address at which other members reach this member. Default: `COLL_HOST`, else as the launcher says. */
  readonly host?: string | undefined;
  readonly jobKey: string | undefined;
}

/** The store in which the members of a launcher's group meet. */
export interface LauncherMeeting {
  /** `tcp://host:port`, with an address of this host if this member hosts the store. */
  readonly address: string;
  readonly jobKey: string;
  /** Whether this member, rank 0, hosts the store. */
  readonly isHere: boolean;
}

/**
 * Finds the store of a group whose launcher does not provide one: rank 0 hosts it at an address
 * that all members derive from the launcher's variables.
 * @throws ValueError (ERR_COLL_CLUSTER) without a job key, or if the launcher does not say where
 * rank 0 runs
 */
export async function launcherMeeting(request: MeetingRequest): Promise<LauncherMeeting> {
  const { membership, environment, jobKey } = request;
  const { launcher, rank } = membership;
  if (!jobKey) throw noJobKey(membership);
  const place = meetingPlace(membership, environment);
  const isHere = rank === 0;
  if (place.host === undefined && !(isHere && launcher === 'AWS Batch')) {
    const cure =
      'set COLL_STORE, COLL_JOB and COLL_JOB_KEY on all members as `coll store --print-env` prints them, or pass a clusterResolver';
    throw new ValueError('ERR_COLL_CLUSTER', `${launcher} does not say on which host rank 0 runs: ${cure}`);
  }
  const host = isHere ? await ownAddress(request, place.host) : (place.host as string);
  return { address: storeUrl(host, place.port), jobKey, isHere };
}

/** The address at which this member's store listens. */
async function ownAddress({ membership, environment, host }: MeetingRequest, announced?: string): Promise<string> {
  if (membersAreLocal(membership)) return '127.0.0.1';
  return reachableAddress(announced, host ?? environment['COLL_HOST']);
}

function storeUrl(host: string, port: number): string {
  return `tcp://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function noJobKey({ launcher }: Membership): ValueError {
  const cure = 'set the same secret on every worker, for example from `openssl rand -base64 32`';
  return new ValueError('ERR_COLL_CLUSTER', `COLL_JOB_KEY is not set, and ${launcher} does not pass one on: ${cure}`);
}
