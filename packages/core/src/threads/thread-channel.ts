/**
 * Messages to all threads that have opened a channel of the same name. Messages are copied, except
 * for shared memory.
 */
export interface ThreadChannel {
  post(message: unknown): void;
  /** Sets whether the channel keeps its thread alive to receive messages. */
  setWaiting(isWaiting: boolean): void;
  close(): void;
}

/** A `BroadcastChannel` as in browsers; `ref` and `unref` exist only in Node.js. */
interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
  ref?(): void;
  unref?(): void;
}

const { BroadcastChannel: Broadcast } = globalThis as unknown as { BroadcastChannel: new (name: string) => Channel };

/**
 * Opens a channel. Messages posted earlier are lost. The channel keeps the thread alive only after
 * `setWaiting(true)`.
 */
export function openChannel(name: string, receive?: (message: unknown) => void): ThreadChannel {
  const channel = new Broadcast(`@coll/core ${name}`);
  if (receive) channel.onmessage = ({ data }) => receive(data);
  channel.unref?.();
  return {
    post: (message) => channel.postMessage(message),
    setWaiting: (isWaiting) => (isWaiting ? channel.ref?.() : channel.unref?.()),
    close: () => channel.close(),
  };
}
