import { on } from 'node:events';
import { BroadcastChannel } from 'node:worker_threads';
import type { ReplicaContext } from '@coll/strategy';
import { measure } from '../measurement.js';
import { contextSubject } from '../subjects/context-subject.js';
import { overlapSubject } from '../subjects/overlap-subject.js';
import type { Order } from './venue.js';

/** A replica that measures what it is ordered to on a channel, until the order is to end. */
export async function replica(context: ReplicaContext, channel: string): Promise<void> {
  const orders = new BroadcastChannel(channel);
  try {
    const messages = on(orders, 'message') as AsyncIterable<[{ readonly data: Order | 'end' }]>;
    context.report('ready');
    for await (const [{ data }] of messages) {
      if (data === 'end') return;
      const { trial, effort } = data;
      const { work } = trial;
      const subject =
        work.type === 'overlap'
          ? overlapSubject(context, trial, work)
          : contextSubject(context, trial, work.type === 'context' ? work.memory : 'known');
      const measurement = await measure(subject, trial, effort);
      // All replicas have the same figures, so one of them reports.
      if (context.replicaIdInSyncGroup === 0) context.report(measurement);
    }
  } finally {
    orders.close();
  }
}
