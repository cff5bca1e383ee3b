import { setImmediate, setTimeout } from 'node:timers/promises';

// Two ranks that wait for each other synchronize while both are inside their calls: most of the
// time at first, half of the time later, when a thread is busy with other work. More ranks stay in
// their calls for longer: see kRanksPerPatientMilli in tuning.h.
const eagerLooks = 50;
const pauseMillis = 2;

/**
 * Yields to the event loop after a poll that was unsuccessful. `look` counts these polls; after
 * many of them the pause is longer.
 */
export async function laterTurn(look: number): Promise<void> {
  if (look < eagerLooks) await setImmediate();
  else await setTimeout(pauseMillis);
}
