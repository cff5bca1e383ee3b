import type { DeclareTest } from '@coll/testing';

/** The tests of a suite that fail, or take too long, with their messages, one after the other; only those whose names match. */
export async function failuresOf(
  declare: (test: DeclareTest) => void,
  only = /./,
  patienceMillis = 60_000,
): Promise<string[]> {
  const tests: { readonly name: string; readonly run: () => void | Promise<void> }[] = [];
  declare((name, run) => tests.push({ name, run }));
  const chosen = tests.filter((test) => only.test(test.name));
  if (chosen.length === 0) throw new RangeError(`no test of the suite is called ${only}`);
  const failures: string[] = [];
  for (const { name, run } of chosen) {
    try {
      await inTime(run, patienceMillis);
    } catch (error) {
      failures.push(`${name}: ${(error as Error).message}`);
    }
  }
  return failures;
}

async function inTime(run: () => void | Promise<void>, patienceMillis: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), patienceMillis);
  });
  await Promise.race([run(), late]).finally(() => clearTimeout(timer));
}
