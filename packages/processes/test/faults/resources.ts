import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** What a process holds that others, or the system, can run out of. */
export interface Resources {
  readonly descriptors: number;
  readonly sockets: number;
  readonly threads: number;
  readonly sharedMappings: number;
}

export function resourcesOfThisProcess(): Resources {
  const targets = readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // The one that reads the folder.
      return [];
    }
  });
  const mappings = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return {
    descriptors: targets.length,
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
    threads: readdirSync('/proc/self/task').length,
    sharedMappings: mappings.filter((mapping) => /\S+ ..[-x]s .*memfd:/.test(mapping)).length,
  };
}

/** Gives what is garbage back; finalizers run in turns of the event loop after a collection. */
export async function collectGarbage(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    (globalThis as unknown as { gc(): void }).gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What a process holds more than before; undefined where nothing is. */
export function leakBetween(before: Resources, after: Resources): string | undefined {
  const leaks = (Object.keys(before) as (keyof Resources)[])
    .filter((kind) => after[kind] > before[kind])
    .map((kind) => `${after[kind] - before[kind]} ${kind} more than before`);
  return leaks.length > 0 ? leaks.join(', ') : undefined;
}
