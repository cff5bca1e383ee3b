import { CollError } from '@coll/core';
import { secretBytes } from './hello.js';
import { isSameHost } from './host.js';
import type { MemberConfig } from './member-config.js';
import { hostOf, type PeerInfo } from './peer-info.js';
import type { MemoryHandle, ProcessBinding, SegmentHandle } from './process-binding.js';

/** This member's shared memory, and the other members' memory that it has opened. */
export class SharedSegments {
  /** The secret that other members need to open this memory; zeros if there is no memory. */
  readonly secret: Buffer;
  readonly #binding: ProcessBinding;
  readonly #rank: number;
  readonly #segments: (SegmentHandle | undefined)[] = [];
  #refused: string | undefined;

  constructor(binding: ProcessBinding, { rank, size, maxBytes }: MemberConfig, isWanted: boolean) {
    this.#binding = binding;
    this.#rank = rank;
    this.secret = Buffer.alloc(secretBytes);
    if (!isWanted) return;
    try {
      const [segment, info] = binding.segment(maxBytes, size);
      this.#segments[rank] = segment;
      this.secret.set(info);
    } catch (error) {
      this.#refused = (error as Error).message;
    }
  }

  /**
   * Opens another rank's memory, and writes a mark of this rank there. Returns the reason if that
   * failed; undefined on success.
   */
  open(rank: number, secret: Buffer): string | undefined {
    if (this.#refused !== undefined) return this.#refused;
    if (secret.every((byte) => byte === 0)) return `rank ${rank} has no memory segment to share`;
    try {
      this.#segments[rank] = this.#binding.openSegment(Uint8Array.from(secret), this.#rank);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Whether `rank` has left its mark in this member's memory. */
  hasMark(rank: number): boolean {
    const own = this.#segments[this.#rank];
    return own !== undefined && this.#binding.hasMark(own, rank);
  }

  /**
   * Makes room for messages with these ranks, whose memory is open. Returns the segments by rank.
   * @throws CollError if there is no room
   */
  makeRings(ranks: readonly number[], size: number): readonly (SegmentHandle | undefined)[] {
    const own = this.#segments[this.#rank];
    if (own && ranks.length > 0) withRoom(() => this.#binding.makeRings(own, size));
    return Array.from({ length: size }, (_, rank) =>
      ranks.includes(rank) ? this.#segments[Math.min(rank, this.#rank)] : undefined,
    );
  }

  /**
   * Joins the memory of all ranks, which must be open.
   * @throws CollError if a rank's memory is too small for all members' needs
   */
  join(): MemoryHandle {
    return withRoom(() => this.#binding.sharedMemory(this.#rank, this.#segments as readonly SegmentHandle[]));
  }

  /** Releases all segments. Memory that was joined or holds messages stays mapped. */
  release(): void {
    for (const segment of this.#segments) if (segment) this.#binding.releaseSegment(segment);
    this.#segments.length = 0;
  }
}

/** The ranks whose memory a member tries to open. */
export function ranksToShareWith(member: MemberConfig, peers: readonly PeerInfo[]): readonly number[] {
  if (member.transport === 'tcp') return [];
  const own = hostOf(peers[member.rank] as PeerInfo);
  return [...peers.keys()].filter((rank) => rank !== member.rank && isSameHost(own, hostOf(peers[rank] as PeerInfo)));
}

function withRoom<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (cause) {
    const message = `${(cause as Error).message}; open the group with a larger maxBytes on all members`;
    throw new CollError('ERR_COLL_BUFFER', message, { operation: 'open a group', cause });
  }
}
