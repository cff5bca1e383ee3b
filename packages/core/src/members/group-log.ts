import { recordPlace } from '../record/recorder-hook.js';
import type { CallOrder } from '../runtime/call-order.js';
import type { CollError } from '../support/errors.js';
import { type LogLevel, log } from '../support/logger.js';
import { bytesText, countText, secondsText, shareText } from '../support/quantities.js';

/** An open group, for its lines in the log. */
export interface GroupFacts {
  /** What the members are, in the plural: `processes`. */
  readonly kind: 'members of one thread' | 'threads' | 'processes' | 'MPI processes';
  readonly members: number;
  /** The host of each member; undefined if all are part of this process. */
  readonly hosts?: readonly string[] | undefined;
  /** How members exchange data: `shared memory`, `tcp`, or several. */
  readonly transport: string;
  /** What executes the collectives. */
  readonly engine: string;
  /** The SIMD instructions of the engine, if it reports them. */
  readonly simd?: string | undefined;
  /** Name of the algorithm; `auto` chooses by size once the links are measured. */
  readonly algorithm: string;
  /** Cores for each of the members that share the cores of this one; undefined if not known. */
  readonly coresPerMember?: number | undefined;
}

/** What a group has done, for the line at its end. */
export interface GroupFigures {
  readonly order: Pick<CallOrder, 'begun' | 'bytes'>;
  /** Members whose bytes the order counts together. Default: 1. */
  readonly localMembers?: number;
  /** Seconds in collectives, including waits for other members; undefined if they were not measured. */
  readonly secondsInCalls?: number | undefined;
  readonly failure?: CollError | undefined;
}

/** Logs when a group has opened, and once more when this member leaves it. */
export class GroupLog {
  readonly #rank: number;
  readonly #level: LogLevel;
  readonly #what: string;
  readonly #members: number;
  readonly #opened = performance.now();
  #isClosed = false;

  /** `level`: that of the lines of this member. Default: `info` for rank 0, `debug` for the others. */
  constructor(rank: number, facts: GroupFacts, level: LogLevel = rank === 0 ? 'info' : 'debug') {
    const { kind, members, hosts, ...others } = facts;
    this.#rank = rank;
    this.#level = level;
    this.#members = members;
    this.#what = `${members} ${kind}`;
    const data = { kind, members, hosts: hosts && membersByHost(hosts), ...others, records: recordPlace };
    log(level, `group opened: ${this.#what}${placeText(hosts)}; ${factsText(facts)}`, {
      rank,
      event: 'group opened',
      data,
    });
  }

  /** Logs the end of the group; only the first call does. */
  close({ order, localMembers = 1, secondsInCalls, failure }: GroupFigures): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const seconds = (performance.now() - this.#opened) / 1000;
    const [collectives, bytes] = [order.begun, order.bytes / localMembers];
    const share = secondsInCalls === undefined ? undefined : Math.min(1, secondsInCalls / seconds);
    const done = [
      `open for ${secondsText(seconds)}`,
      `${countText(collectives, 'collective')} of ${bytesText(bytes)} per member`,
      ...(share === undefined ? [] : [`${shareText(share)} of the time in collectives`]),
      ...(failure ? [`failed with ${failure.code}`] : []),
    ];
    log(this.#level, `group closed: ${this.#what}; ${done.join('; ')}`, {
      rank: this.#rank,
      event: 'group closed',
      data: {
        members: this.#members,
        seconds,
        collectives,
        bytesPerMember: bytes,
        shareInCollectives: share,
        failure: failure?.code,
      },
    });
  }
}

/** How many members each host has, in the order of the hosts' first members. */
function membersByHost(hosts: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const host of hosts) counts[host] = (counts[host] ?? 0) + 1;
  return counts;
}

// Lines about many hosts would hide the rest.
const mostHosts = 8;

function placeText(hosts: readonly string[] | undefined): string {
  if (!hosts) return '';
  const counts = Object.entries(membersByHost(hosts));
  if (counts.length > mostHosts) return ` on ${counts.length} hosts`;
  return ` on ${counts.map(([host, count]) => (counts.length === 1 ? host : `${host} (${count})`)).join(', ')}`;
}

function factsText({ transport, engine, simd, algorithm, coresPerMember }: GroupFacts): string {
  const cores =
    coresPerMember === undefined ? [] : [`${countText(Number(coresPerMember.toFixed(2)), 'core')} per member`];
  const executing = simd === undefined ? `engine ${engine}` : `engine ${engine} with ${simd}`;
  const records = recordPlace === undefined ? [] : [`records in ${recordPlace}`];
  return [transport, executing, `algorithm ${algorithm}`, ...cores, ...records].join('; ');
}
