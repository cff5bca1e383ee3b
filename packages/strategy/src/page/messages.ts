/** Marks the messages between a `PageThread` and its worker that do not belong to the program. */
const role = 'coll replica';

/** Begins the names of the workers of replicas. */
export const nameOfReplicas = 'coll replica';

/**
 * The worker has begun, and holds a lock of this name until it ends: a page gets no event for the end
 * of a worker.
 */
export interface Ready {
  readonly role: typeof role;
  readonly type: 'ready';
  readonly lock: string;
}

/** The answer to `Ready`. */
export interface Start {
  readonly role: typeof role;
  readonly type: 'start';
  readonly data: unknown;
  readonly port: unknown;
}

/** The last message of a worker that ends by itself. */
export interface Ended {
  readonly role: typeof role;
  readonly type: 'ended';
}

type Own = Ready | Start | Ended;

/** The message if it has this type and comes from this room; undefined otherwise. */
export function own<Type extends Own['type']>(message: unknown, type: Type): Extract<Own, { type: Type }> | undefined {
  const { role: found, type: other } = Object(message) as Partial<Own>;
  return found === role && other === type ? (message as Extract<Own, { type: Type }>) : undefined;
}

export const ready = (lock: string): Ready => ({ role, type: 'ready', lock });
export const start = (data: unknown, port: unknown): Start => ({ role, type: 'start', data, port });
export const ended: Ended = { role, type: 'ended' };
