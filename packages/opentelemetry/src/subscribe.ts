import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { CallEvent, GroupEvent, GroupLostEvent } from '@coll/core';

/** What happens in this thread. */
export interface Observer {
  /** A call begins. Returns a function that is called once the call has ended. */
  begin(event: CallEvent): () => void;
  opened(event: GroupEvent): void;
  lost(event: GroupLostEvent): void;
  closed(event: GroupEvent): void;
}

/** Observes the calls and groups of this thread. Returns a function that ends this. */
export function subscribe(observer: Partial<Observer>): () => void {
  const subscriptions = [
    ...subscriptionsToCalls(observer),
    subscription('coll:group:opened', observer.opened?.bind(observer)),
    subscription('coll:group:lost', observer.lost?.bind(observer)),
    subscription('coll:group:closed', observer.closed?.bind(observer)),
  ];
  return () => {
    for (const end of subscriptions) end();
  };
}

function subscriptionsToCalls(observer: Partial<Observer>) {
  const begin = observer.begin?.bind(observer);
  if (!begin) return [];
  const ends = new WeakMap<CallEvent, () => void>();
  const finish = (event: CallEvent) => {
    ends.get(event)?.();
    ends.delete(event);
  };
  const calls = tracingChannel('coll:collective');
  return [
    subscription<CallEvent>(calls.start, (event) => ends.set(event, begin(event))),
    // A call that is still under way has neither.
    subscription<CallEvent>(calls.end, (event) => {
      if ('result' in event || 'error' in event) finish(event);
    }),
    subscription<CallEvent>(calls.asyncEnd, finish),
  ];
}

function subscription<Event>(to: string | ReturnType<typeof channel>, hear: ((event: Event) => void) | undefined) {
  const subscriber = hear as ((event: unknown) => void) | undefined;
  if (!subscriber) return () => {};
  const source = typeof to === 'string' ? channel(to) : to;
  source.subscribe(subscriber);
  return () => void source.unsubscribe(subscriber);
}
