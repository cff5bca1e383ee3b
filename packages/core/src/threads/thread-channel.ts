/** Messages to all threads that have opened a channel of the same name. They are copied, but for shared memory. */
export interface ThreadChannel {
  post(message: unknown): void;
  /** Whether the thread must go on for what comes. */
  setWaiting(isWaiting: boolean): void;
  close(): void;
}

/** As in browsers; only Node's can be referenced. */
interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
  ref?(): void;
  unref?(): void;
}

const { BroadcastChannel: Broadcast } = globalThis as unknown as { BroadcastChannel: new (name: string) => Channel };

/** Opens a channel, which keeps no thread from ending until it waits. What was posted before is lost. */
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
