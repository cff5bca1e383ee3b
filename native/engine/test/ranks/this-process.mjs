import { readdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Under a sanitizer everything takes several times as long. */
export const isSanitized = /lib[at]san/.test(process.env.LD_PRELOAD ?? '');
export const patience = isSanitized ? 10 : 1;

/** Frees what nobody refers to, and lets finalizers run, which come in turns of the event loop. */
export async function collectGarbage() {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  for (let turn = 0; turn < 3; turn++) {
    gc();
    await setTimeout(1);
  }
}

/** Threads of this process; undefined where the system does not tell. */
export function countThreads() {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').length : undefined;
}

/** Waits until there are no more threads than that. */
export async function threadsAreDownTo(most) {
  for (const end = performance.now() + 60_000; countThreads() > most; await setTimeout(5)) {
    if (performance.now() > end) throw new Error(`${countThreads()} threads are left, not ${most}`);
  }
}
