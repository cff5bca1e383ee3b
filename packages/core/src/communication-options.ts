import { ValueError } from './errors.js';
import { logFirst } from './logger.js';
import { quote } from './quote.js';

/** Which implementation carries collectives across workers. `AUTO` leaves the choice to the runtime. */
export const CommunicationImplementation = { AUTO: 'AUTO', RING: 'RING', NCCL: 'NCCL' } as const;

export type CommunicationImplementation =
  (typeof CommunicationImplementation)[keyof typeof CommunicationImplementation];

/** The same object under the name it had before. */
export const CollectiveCommunication = CommunicationImplementation;

export interface CommunicationOptionsInit {
  /** Bytes after which a pack of small tensors is closed; 0: everything in one pack. */
  readonly bytesPerPack?: number | undefined;
  /** Seconds until a collective gives up; null and 0: never. */
  readonly timeoutSeconds?: number | null | undefined;
  /** A member of `CommunicationImplementation`, or its name in any letter case. */
  readonly implementation?: CommunicationImplementation | Lowercase<CommunicationImplementation> | undefined;
}

/** How collectives communicate. */
export class CommunicationOptions {
  bytesPerPack: number;
  /** `null`, as in the original, means that none was given: `merge` tells it from 0, which switches a default off. */
  timeoutSeconds: number | null;
  implementation: CommunicationImplementation;

  /** @throws ValueError for a negative `bytesPerPack` or an unknown `implementation`, in this order. */
  constructor({ bytesPerPack = 0, timeoutSeconds = null, implementation = 'AUTO' }: CommunicationOptionsInit = {}) {
    if (!(typeof bytesPerPack === 'number' && bytesPerPack >= 0))
      throw new ValueError('ERR_COLL_VALUE', `bytesPerPack must be 0 or more bytes, not ${quote(bytesPerPack)}`);
    this.bytesPerPack = bytesPerPack;
    this.timeoutSeconds = timeoutSeconds;
    this.implementation = implementationFrom(implementation);
  }

  /**
   * New options in which `other` overrides whatever it sets: a `bytesPerPack` other than 0, a `timeoutSeconds` other than
   * null (0 included), an `implementation` other than AUTO.
   */
  merge(other?: CommunicationOptions | null): CommunicationOptions {
    return new CommunicationOptions({
      bytesPerPack: other?.bytesPerPack || this.bytesPerPack,
      timeoutSeconds: other?.timeoutSeconds ?? this.timeoutSeconds,
      implementation: other && other.implementation !== 'AUTO' ? other.implementation : this.implementation,
    });
  }

  toString(): string {
    const timeout = this.timeoutSeconds ?? 'None';
    return `Options(bytes_per_pack=${this.bytesPerPack},timeout_seconds=${timeout}, implementation=CommunicationImplementation.${this.implementation})`;
  }
}

/** @deprecated The old name of `CommunicationOptions`, without a choice of implementation. */
export class CollectiveHints extends CommunicationOptions {
  constructor({
    bytesPerPack,
    timeoutSeconds,
  }: Pick<CommunicationOptionsInit, 'bytesPerPack' | 'timeoutSeconds'> = {}) {
    logFirst(1, 'CollectiveHints', 'warn', 'CollectiveHints is deprecated; use CommunicationOptions instead');
    super({ bytesPerPack, timeoutSeconds });
  }
}

function implementationFrom(value: unknown): CommunicationImplementation {
  const name = typeof value === 'string' ? value.toUpperCase() : '';
  if (Object.hasOwn(CommunicationImplementation, name)) return name as CommunicationImplementation;
  const known = Object.keys(CommunicationImplementation).join(', ');
  throw new ValueError('ERR_COLL_VALUE', `implementation must be one of ${known}, not ${quote(value)}`);
}
