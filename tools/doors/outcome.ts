import type { Ended } from './run-program.ts';
import type { Outcome } from './table.ts';

/** Lines that a runtime prints to stderr about itself. A program that prints anything else has failed, whatever its exit code. */
const notices = [
  /ExperimentalWarning: (Type Stripping|CommonJS module .* is loading ES Module|Permission is) /,
  /^\(Use `.*--trace-warnings \.\.\.` to show where the warning was created\)$/,
  /^Support for loading ES Module in require\(\) is an experimental feature/,
  /SecurityWarning: The flag --allow-(addons|worker) must be used with extreme caution/,
];

/** A warning that a program provokes. */
const wanted = /^coll warn \S+ \[.*\] a process at .* has another job key/;

/** The refusal of coll that a program, or `coll run`, has printed. */
export function refusalOf({ stdout, stderr }: Ended): Outcome | undefined {
  const [, code, note] =
    /^door: refused (\S+) (.*)/m.exec(stdout) ?? /^coll run: (ERR_COLL_\w+): (.*)/m.exec(stderr) ?? [];
  return code === undefined ? undefined : { result: 'refused', code, note };
}

/** The outcome of a program whose processes, one or more, each end with a call of `door` of fixtures/check.mjs. */
export function outcomeOf(ended: Ended, processes = 1): Outcome {
  const { code, stdout, stderr } = ended;
  const refusal = refusalOf(ended);
  if (refusal) return refusal;
  const isOfProgram = (line: string) => line.trim() !== '' && ![...notices, wanted].some((notice) => notice.test(line));
  const lines = stderr.split('\n').filter(isOfProgram);
  const passed = stdout.match(/door: ok$/gm)?.length ?? 0;
  if (code === 0 && passed === processes && lines.length === 0) return { result: 'ok' };
  const ending = code === undefined ? 'did not end' : `ended with code ${code}`;
  return { result: 'failed', note: [ending, ...lines].join('\n') };
}
